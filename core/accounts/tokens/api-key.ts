import { createHash, randomBytes } from 'node:crypto';

/** `svc_`, or `old_` for keys from before the rename, and 32 bytes in hex (ACC-32). */
const FORM = /^(svc|old)_[0-9a-f]{64}$/;

export interface NewApiKey {
  /** The key itself: shown once, never stored. */
  key: string;
  hash: Buffer;
  last4: string;
}

export function newApiKey(): NewApiKey {
  const key = `svc_${randomBytes(32).toString('hex')}`;
  return { key, hash: hashApiKey(key), last4: key.slice(-4) };
}

export function isApiKey(text: string): boolean {
  return FORM.test(text);
}

/** Also of a key that is cut off or mistyped; no JWT starts so. */
export function startsLikeApiKey(text: string): boolean {
  return /^(svc|old)_/.test(text);
}

/** SHA-256 of the whole key, prefix included. 256 random bits need no slow hash. */
export function hashApiKey(key: string): Buffer {
  return createHash('sha256').update(key).digest();
}
