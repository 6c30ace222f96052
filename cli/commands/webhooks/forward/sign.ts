import { randomBytes } from 'node:crypto';
import { UsageError } from '../../../fault.ts';

const PREFIX = 'whsec_';
const SECRET_BYTES = 32;
const BASE64 = /^[A-Za-z0-9+/]+={0,2}$/;

/** A secret of the form that the service gives out. */
export function newSecret(): string {
  return PREFIX + randomBytes(SECRET_BYTES).toString('base64');
}

/** Throws UsageError for a text that cannot be the secret of a webhook. */
export function checkSecret(secret: string): string {
  if (secret.startsWith(PREFIX) && BASE64.test(secret.slice(PREFIX.length))) return secret;
  throw new UsageError('--secret must be whsec_ followed by base64, as webhooks create shows it');
}
