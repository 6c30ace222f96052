import { createHash, createHmac, hkdfSync, randomBytes, randomInt } from 'node:crypto';

/**
 * Keyed digests, so that short secrets (six digits) can't be found by trying all of them against a stolen
 * table, and so that what is derived here can't be derived elsewhere.
 */
export interface SecretDigest {
  /** HMAC-SHA256 under a key of its own for each purpose. */
  digest(
    purpose: 'email-code' | 'refresh-next' | 'login-email' | 'login-success' | 'current-password' | 'csrf',
    text: string,
  ): Buffer;
  /** The same under each accepted secret, the current one first. */
  digests(purpose: 'email-code' | 'refresh-next' | 'csrf', text: string): Buffer[];
}

/** Under JWT_SECRET; what one of `accepted` (JWT_SECRETS_ACCEPTED) has digested is recognized. */
export function createSecretDigest(secret: string, accepted: readonly string[] = []): SecretDigest {
  const keys = new Map<string, Buffer>();
  function digestWith(own: string, nth: number, purpose: string, text: string): Buffer {
    const name = `${nth} ${purpose}`;
    let key = keys.get(name);
    if (!key) {
      key = Buffer.from(hkdfSync('sha256', own, '', `posthorn ${purpose}`, 32));
      keys.set(name, key);
    }
    return createHmac('sha256', key).update(text).digest();
  }
  return {
    digest: (purpose, text) => digestWith(secret, 0, purpose, text),
    digests: (purpose, text) => [secret, ...accepted].map((own, nth) => digestWith(own, nth, purpose, text)),
  };
}

/** A bearer secret of 32 random bytes, for links, cookies and pending sign-ups. */
export function newSecret(): string {
  return randomBytes(32).toString('base64url');
}

/** How such a secret is stored. 256 random bits need no key. */
export function hashSecret(secret: string): Buffer {
  return createHash('sha256').update(secret).digest();
}

/** Six digits (ACC-18). */
export function newCode(): string {
  return String(randomInt(1_000_000)).padStart(6, '0');
}
