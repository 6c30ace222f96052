import { createHmac, createSecretKey, type KeyObject } from 'node:crypto';

const PREFIX = 'whsec_';

/**
 * The HMAC key of a secret `whsec_<base64>` (Standard Webhooks). A KeyObject, made once: signing 1 KB takes 2
 * µs with it and 10 µs with the key's bytes.
 */
export function signingKey(secret: string): KeyObject {
  const bytes = secret.startsWith(PREFIX) ? secret.slice(PREFIX.length) : secret;
  return createSecretKey(Buffer.from(bytes, 'base64'));
}

/**
 * The header `webhook-signature`: `v1,<base64 HMAC-SHA256 of "id.timestamp.body">` for each key, separated by
 * spaces. During the grace of a rotated secret its key signs too, so receivers can change at any time.
 */
export function signWebhook(
  keys: readonly KeyObject[],
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
