import { type Cipher, openOrNull } from '../platform/encryption.ts';

/** A rotated secret, and the end of its grace in ISO 8601. */
export interface EarlierSecret {
  secret: string;
  until: string;
}

/** The columns of a webhook that hold its secrets, sealed. */
export interface SecretColumns {
  secret: Buffer;
  previous_secret: Buffer | null;
  previous_secret_expires_at: Date | null;
  /** Sealed `EarlierSecret[]`, newest first: those before the previous one. */
  earlier_secrets: Buffer | null;
}

/**
 * The secrets that were rotated and are kept, newest first. One that cannot be opened is left out: a rotation
 * repairs such a webhook, so its old secrets must not block it.
 */
export function rotatedSecrets(cipher: Cipher, row: SecretColumns): EarlierSecret[] {
  const previous = row.previous_secret && openOrNull<string>(cipher, row.previous_secret);
  const until = row.previous_secret_expires_at?.toISOString();
  const earlier = row.earlier_secrets && openOrNull<EarlierSecret[]>(cipher, row.earlier_secrets);
  return [...(previous && until ? [{ secret: previous, until }] : []), ...(earlier ?? [])];
}
