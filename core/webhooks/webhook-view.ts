import type { Webhook as WebhookView } from '@posthorn/contract/messaging/webhooks.ts';
import { type Cipher, openOrNull } from '../platform/encryption.ts';
import type { Webhook } from './entities.ts';

/**
 * A webhook as the API shows it: without its secret, and without headers that no accepted key opens. A new value repairs them, so they
 * must not block it, nor the list with the others.
 */
export function webhookView(cipher: Cipher, webhook: Webhook): WebhookView {
  return {
    id: webhook.id,
    company_id: webhook.companyId,
    url: webhook.url,
    events: webhook.patterns,
    instance_id: webhook.instanceId ?? null,
    headers: (webhook.headers && openOrNull<Record<string, string>>(cipher, webhook.headers)) ?? {},
    enabled: webhook.enabled,
    disabled_reason: webhook.disabledReason ?? null,
    created_at: webhook.createdAt.toISOString(),
    updated_at: webhook.updatedAt.toISOString(),
  };
}

/** Null for none: nothing to seal, and nothing to open at each delivery. */
export function sealHeaders(cipher: Cipher, headers: Readonly<Record<string, string>>): Buffer | null {
  return Object.keys(headers).length === 0 ? null : cipher.seal(headers);
}
