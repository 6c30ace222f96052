import { createHmac, timingSafeEqual } from 'node:crypto';
import type { WebhookEvent } from './event-types.ts';

export type WebhookErrorCode =
  /** One of webhook-id, webhook-timestamp, webhook-signature is missing. */
  | 'MISSING_HEADER'
  /** Signed too long ago, or in the future: a replay, or a clock that is off. */
  | 'TIMESTAMP_OUT_OF_TOLERANCE'
  /** No signature fits any secret: another secret, or not the bytes that were sent. */
  | 'SIGNATURE_MISMATCH'
  /** Signed by us, but not the JSON of an event. */
  | 'INVALID_PAYLOAD';

/** The delivery is not to be trusted; answer 400. */
export class WebhookVerificationError extends Error {
  readonly code: WebhookErrorCode;
  constructor(code: WebhookErrorCode, message: string) {
    super(message);
    this.name = 'WebhookVerificationError';
    this.code = code;
  }
}

export type WebhookHeaders =
  | { get(name: string): string | null }
  | Readonly<Record<string, string | readonly string[] | undefined>>;

export interface VerifyOptions {
  /** How far the timestamp may be off, both ways. Default 300. */
  toleranceSeconds?: number;
  nowMs?: number;
}

/**
 * Checks a delivery against Standard Webhooks and gives its event. `payload` must be the body as it came,
 * not parsed and written again. Several secrets may be given while one is being replaced.
 *
 * Throws WebhookVerificationError, and TypeError for a payload or secret that cannot be one.
 */
export function verifyWebhook(
  payload: string | Uint8Array,
  headers: WebhookHeaders,
  secret: string | readonly string[],
  options: VerifyOptions = {},
): WebhookEvent {
  if (typeof payload !== 'string' && !(payload instanceof Uint8Array)) {
    throw new TypeError('the payload must be the raw body, as a string or bytes');
  }
  const keys = [secret].flat().map(keyOf);
  if (keys.length === 0) throw new TypeError('a secret is required');
  const id = header(headers, 'webhook-id');
  const timestamp = header(headers, 'webhook-timestamp');
  const signatures = header(headers, 'webhook-signature');
  checkTime(timestamp, options);
  const given = signatures.split(' ').flatMap((part) => {
    const [version, signature] = part.split(',', 2);
    return version === 'v1' && signature ? [Buffer.from(signature, 'base64')] : [];
  });
  // Every pair is compared, in constant time each: how long it takes says nothing about what fits.
  let fits = false;
  for (const key of keys) {
    const expected = createHmac('sha256', key).update(`${id}.${timestamp}.`).update(payload).digest();
    for (const signature of given) {
      if (signature.length === expected.length && timingSafeEqual(signature, expected)) fits = true;
    }
  }
  if (!fits) throw new WebhookVerificationError('SIGNATURE_MISMATCH', 'no signature fits the secret');
  return parse(payload);
}

function header(headers: WebhookHeaders, name: string): string {
  let value: unknown;
  if (typeof headers.get === 'function') value = (headers as { get(name: string): string | null }).get(name);
  else {
    const found = Object.entries(headers).find(([key]) => key.toLowerCase() === name)?.[1];
    value = Array.isArray(found) ? found[0] : found;
  }
  if (typeof value !== 'string' || value === '') {
    throw new WebhookVerificationError('MISSING_HEADER', `the header ${name} is missing`);
  }
  return value;
}

function checkTime(timestamp: string, { toleranceSeconds = 300, nowMs = Date.now() }: VerifyOptions): void {
  const offSeconds = /^\d{1,12}$/.test(timestamp) ? nowMs / 1000 - Number(timestamp) : Number.NaN;
  if (Math.abs(offSeconds) <= toleranceSeconds) return;
  const off = Number.isNaN(offSeconds) ? 'is not a Unix time' : `is ${Math.round(offSeconds)} s off`;
  throw new WebhookVerificationError('TIMESTAMP_OUT_OF_TOLERANCE', `the timestamp ${off}`);
}

/** `whsec_` and base64, or base64 alone. */
function keyOf(secret: string): Buffer {
  const text = typeof secret === 'string' ? secret.replace(/^whsec_/, '') : '';
  const key = Buffer.from(text, 'base64');
  if (key.length === 0) throw new TypeError('a secret is whsec_ followed by base64');
  return key;
}

function parse(payload: string | Uint8Array): WebhookEvent {
  const text = typeof payload === 'string' ? payload : Buffer.from(payload).toString('utf8');
  try {
    const event = JSON.parse(text) as WebhookEvent;
    if (typeof event?.event_id === 'string' && typeof event.type === 'string') return event;
  } catch {
    // The same as any other body that is no event.
  }
  throw new WebhookVerificationError('INVALID_PAYLOAD', 'the payload is not an event');
}
