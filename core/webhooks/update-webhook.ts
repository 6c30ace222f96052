import type { UpdateWebhookBody, Webhook as WebhookView } from '@posthorn/contract/messaging/webhooks.ts';
import { reachOf } from '../access/company-scope.ts';
import { lockPrincipal } from '../access/lock-principal.ts';
import type { Principal } from '../access/principal.ts';
import type { Bus } from '../platform/broker/bus.ts';
import type { Orm } from '../platform/database/orm.ts';
import type { Cipher } from '../platform/encryption.ts';
import type { Clock } from '../platform/process/clock.ts';
import { checkWebhookHeaders, checkWebhookUrl, type WebhookPolicy } from './check-webhook.ts';
import { checkOwnInstance, refuseGoneInstance } from './create-webhook.ts';
import { loadWebhook } from './find-webhook.ts';
import { webhookNotification } from './notifications.ts';
import { sealHeaders, webhookView } from './webhook-view.ts';

/**
 * Changes the given fields. Enabling forgets why it was disabled. Errors as at creation, and 404
 * WEBHOOK_NOT_FOUND.
 */
export async function updateWebhook(
  deps: { orm: Orm; bus: Bus; clock: Clock; cipher: Cipher; policy: WebhookPolicy },
  input: { principal: Principal; webhookId: number; body: UpdateWebhookBody },
): Promise<WebhookView> {
  const { body } = input;
  const webhook = await reachOf(deps.orm, input.principal).transactional(async (em) => {
    await lockPrincipal(em, input.principal);
    // The lock orders this and a 410 that arrives now: it disables the webhook before, or finds the new address.
    const webhook = await loadWebhook(em, input.webhookId, { lock: true });
    if (body.url !== undefined) {
      checkWebhookUrl(body.url, deps.policy);
      webhook.url = body.url;
    }
    if (body.headers !== undefined) {
      checkWebhookHeaders(body.headers);
      webhook.headers = sealHeaders(deps.cipher, body.headers);
    }
    if (body.instance_id !== undefined) {
      // Only an instance of the webhook's own company, also for a superadmin.
      await checkOwnInstance(em, webhook.companyId, body.instance_id);
      webhook.instanceId = body.instance_id;
    }
    if (body.events !== undefined) webhook.patterns = body.events;
    if (body.enabled !== undefined) {
      webhook.enabled = body.enabled;
      if (body.enabled) webhook.disabledReason = null;
    }
    if (Object.values(body).some((value) => value !== undefined)) webhook.updatedAt = deps.clock.now();
    await em.flush().catch(refuseGoneInstance);
    return webhook;
  });
  deps.bus.notify('deliveries', webhookNotification(webhook.id));
  return webhookView(deps.cipher, webhook);
}
