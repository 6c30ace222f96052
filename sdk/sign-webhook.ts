import { randomId } from './random-id.ts';
import { bytesOf, keysOf, signedBytes } from './verify-webhook.ts';

export interface SignOptions {
  /** `webhook-id`, which is the event's `event_id`. Default: a random one. */
  id?: string | undefined;
  /** When it is signed. Default: now. */
  nowMs?: number | undefined;
}

/** The headers of a delivery, as Standard Webhooks names them. */
export interface SignedHeaders extends Record<string, string> {
  'webhook-id': string;
  'webhook-timestamp': string;
  'webhook-signature': string;
}

/**
 * Signs a body as the service signs deliveries, so that tests can post events to a receiver. Each of several secrets
 * makes one signature. Rejects with TypeError for an invalid payload or secret.
 *
 * @example
 * const body = JSON.stringify(event);
 * await fetch(receiver, { method: 'POST', body, headers: await signWebhook(body, 'whsec_...') });
 */
export async function signWebhook(
  payload: string | Uint8Array | ArrayBuffer,
  secret: string | readonly string[],
  { id = randomId(), nowMs = Date.now() }: SignOptions = {},
): Promise<SignedHeaders> {
  const timestamp = String(Math.floor(nowMs / 1000));
  const signed = signedBytes(id, timestamp, bytesOf(payload));
  const keys = await keysOf(secret, 'sign');
  const signatures = keys.map(async (key) => {
    const signature = new Uint8Array(await crypto.subtle.sign('HMAC', key, signed));
    return `v1,${btoa(String.fromCharCode(...signature))}`;
  });
  return {
    'webhook-id': id,
    'webhook-timestamp': timestamp,
    'webhook-signature': (await Promise.all(signatures)).join(' '),
  };
}
