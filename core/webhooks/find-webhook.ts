import { LockMode } from '@mikro-orm/core';
import type { EntityManager } from '@mikro-orm/postgresql';
import { apiError } from '@posthorn/contract/api-error.ts';
import type { Webhook as WebhookView } from '@posthorn/contract/messaging/webhooks.ts';
import { reachOf } from '../access/company-scope.ts';
import type { Principal } from '../access/principal.ts';
import type { Orm } from '../platform/database/orm.ts';
import type { Cipher } from '../platform/encryption.ts';
import { type Webhook, WebhookSchema } from './entities.ts';
import { webhookView } from './webhook-view.ts';

/**
 * The webhook within reach of `em`; `lock` needs a transaction. 404 WEBHOOK_NOT_FOUND for an unknown and a foreign id alike
 * (WHK-4).
 */
export async function loadWebhook(
  em: EntityManager,
  webhookId: number,
  options: { lock?: boolean } = {},
): Promise<Webhook> {
  const lockMode = options.lock ? LockMode.PESSIMISTIC_WRITE : undefined;
  const found = await em.findOne(WebhookSchema, { id: webhookId }, { lockMode });
  if (!found) throw apiError('WEBHOOK_NOT_FOUND');
  return found;
}

export async function findWebhook(
  deps: { orm: Orm; cipher: Cipher },
  input: { principal: Principal; webhookId: number },
): Promise<WebhookView> {
  return webhookView(deps.cipher, await loadWebhook(reachOf(deps.orm, input.principal), input.webhookId));
}
