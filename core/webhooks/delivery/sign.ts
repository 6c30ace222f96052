import { createHmac } from 'node:crypto';

const PREFIX = 'whsec_';

/** The HMAC key in a secret `whsec_<base64>` (Standard Webhooks). */
export function signingKey(secret: string): Buffer {
  return Buffer.from(secret.startsWith(PREFIX) ? secret.slice(PREFIX.length) : secret, 'base64');
}

/**
 * The header `webhook-signature`: `v1,<base64 HMAC-SHA256 of "id.timestamp.body">` for each key, separated
 * by spaces. While a rotated secret is in its grace both sign, so receivers change at their leisure.
 */
export function signWebhook(
  keys: readonly Buffer[],
  message: { id: string; timestampS: number; body: Buffer },
): string {
  const prefix = `${message.id}.${message.timestampS}.`;
  let header = '';
  for (const key of keys) {
    const signature = createHmac('sha256', key).update(prefix).update(message.body).digest('base64');
    header += header === '' ? `v1,${signature}` : ` v1,${signature}`;
  }
  return header;
}
