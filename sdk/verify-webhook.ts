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

/** See `BRAND` of error.ts: also one for all copies of this module. */
const BRAND = Symbol.for('posthorn.webhook-error');

/** The delivery is not to be trusted; answer 400. */
export class WebhookVerificationError extends Error {
  readonly code: WebhookErrorCode;
  constructor(code: WebhookErrorCode, message: string) {
    super(message);
    this.name = 'WebhookVerificationError';
    this.code = code;
    Object.defineProperty(this, BRAND, { value: true });
  }

  static override [Symbol.hasInstance](value: unknown): boolean {
    return (value as { [BRAND]?: unknown } | null | undefined)?.[BRAND] === true;
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
 * Checks a delivery against Standard Webhooks and gives its event. `payload` must be the body as it was received, not
 * parsed and serialized again. Several secrets may be given while one is being replaced. It uses WebCrypto, so it runs
 * in Workers too.
 *
 * Rejects with WebhookVerificationError, and with TypeError for an invalid payload or secret.
 */
export async function verifyWebhook(
  payload: string | Uint8Array | ArrayBuffer,
  headers: WebhookHeaders,
  secret: string | readonly string[],
  options: VerifyOptions = {},
): Promise<WebhookEvent> {
  const body = bytesOf(payload);
  const keys = await keysOf(secret, 'verify');
  const id = header(headers, 'webhook-id');
  const timestamp = header(headers, 'webhook-timestamp');
  const signatures = header(headers, 'webhook-signature');
  checkTime(timestamp, options);
  const given = signatures.split(' ').flatMap((part) => {
    const [version, signature] = part.split(',', 2);
    const bytes = version === 'v1' && signature ? bytesOfBase64(signature) : null;
    return bytes ? [bytes] : [];
  });
  const signed = signedBytes(id, timestamp, body);
  // Every pair is compared in constant time, so that the duration does not reveal which one fits.
  let fits = false;
  for (const key of keys) {
    for (const signature of given) {
      if (await crypto.subtle.verify('HMAC', key, signature, signed)) fits = true;
    }
  }
  if (!fits) throw new WebhookVerificationError('SIGNATURE_MISMATCH', 'no signature fits the secret');
  return parse(body);
}

/** Throws TypeError for anything that is no body. */
export function bytesOf(payload: unknown): Uint8Array {
  if (typeof payload === 'string') return new TextEncoder().encode(payload);
  // Checks the tag, because bytes of another realm, such as that of a test runner, are no instance of this realm's
  // class.
  const kind = Object.prototype.toString.call(payload);
  if (kind === '[object Uint8Array]') return payload as Uint8Array;
  if (kind === '[object ArrayBuffer]') return new Uint8Array(payload as ArrayBuffer);
  throw new TypeError('the payload must be the raw body, as a string or bytes');
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

/** The types of some platforms have no name for it. */
type Key = Awaited<ReturnType<typeof crypto.subtle.importKey>>;

/** Throws TypeError for an invalid secret, and for an empty list. */
export async function keysOf(secret: string | readonly string[], usage: 'sign' | 'verify'): Promise<Key[]> {
  const secrets = [secret].flat().map(keyOf);
  if (secrets.length === 0) throw new TypeError('a secret is required');
  const algorithm = { name: 'HMAC', hash: 'SHA-256' };
  return Promise.all(secrets.map((raw) => crypto.subtle.importKey('raw', raw, algorithm, false, [usage])));
}

/** `whsec_` and base64, or base64 alone. */
function keyOf(secret: string): Uint8Array<ArrayBuffer> {
  const key = typeof secret === 'string' ? bytesOfBase64(secret.replace(/^whsec_/, '')) : null;
  if (!key || key.length === 0) throw new TypeError('a secret is whsec_ followed by base64');
  return key;
}

function bytesOfBase64(text: string): Uint8Array<ArrayBuffer> | null {
  try {
    return Uint8Array.from(atob(text), (char) => char.charCodeAt(0));
  } catch {
    return null;
  }
}

/** The bytes that a signature of Standard Webhooks covers. */
export function signedBytes(id: string, timestamp: string, tail: Uint8Array): Uint8Array<ArrayBuffer> {
  const head = new TextEncoder().encode(`${id}.${timestamp}.`);
  const whole = new Uint8Array(head.length + tail.length);
  whole.set(head);
  whole.set(tail, head.length);
  return whole;
}

function parse(body: Uint8Array): WebhookEvent {
  try {
    const event = JSON.parse(new TextDecoder().decode(body)) as WebhookEvent;
    if (typeof event?.event_id === 'string' && typeof event.type === 'string') return event;
  } catch {
    // Invalid JSON is refused like any other body that is no event.
  }
  throw new WebhookVerificationError('INVALID_PAYLOAD', 'the payload is not an event');
}
