import { createHmac, randomBytes } from 'node:crypto';
import { UsageError } from '../../../fault.ts';

const PREFIX = 'whsec_';
const SECRET_BYTES = 32;
const BASE64 = /^[A-Za-z0-9+/]+={0,2}$/;

/** A secret of the form that the service gives out. */
export function newSecret(): string {
  return PREFIX + randomBytes(SECRET_BYTES).toString('base64');
}

/** UsageError for what cannot be the secret of a webhook. */
export function checkSecret(secret: string): string {
  if (secret.startsWith(PREFIX) && BASE64.test(secret.slice(PREFIX.length))) return secret;
  throw new UsageError('--secret must be whsec_ followed by base64, as webhooks create shows it');
}

/** The headers of Standard Webhooks, signed now with each of the secrets, as the service signs deliveries. */
export function signedHeaders(
  secrets: readonly string[],
  eventId: string,
  body: Buffer,
): Record<string, string> {
  const timestampS = Math.floor(Date.now() / 1000);
  const signatures = secrets.map((secret) => {
    const key = Buffer.from(secret.slice(PREFIX.length), 'base64');
    const hmac = createHmac('sha256', key).update(`${eventId}.${timestampS}.`).update(body);
    return `v1,${hmac.digest('base64')}`;
  });
  return {
    'webhook-id': eventId,
    'webhook-timestamp': String(timestampS),
    'webhook-signature': signatures.join(' '),
  };
}
