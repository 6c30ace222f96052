import {
  createCipheriv,
  createDecipheriv,
  createHmac,
  createSecretKey,
  hkdfSync,
  type KeyObject,
} from 'node:crypto';
import { drawBytes } from './draw-bytes.ts';

/** Keeps what must not be read out of a stolen database: network credentials, webhook secrets and headers. */
export interface Cipher {
  /** Any JSON value, sealed: one version byte, 12 bytes of nonce, 16 of tag, then the ciphertext. */
  seal(value: unknown): Buffer;
  /**
   * Gives the value that {@link Cipher.seal} was given. Throws when the bytes were altered or sealed with a key that is not
   * accepted here.
   */
  open<T = unknown>(sealed: Uint8Array): T;
  /**
   * The same value sealed anew, with the key that seals now; null if it is already. Throws as {@link Cipher.open} does.
   */
  reseal(sealed: Uint8Array): Buffer | null;
  /** 32 bytes that are the same for the same text and purpose, and tell nothing of it to who lacks the key. */
  digest(purpose: string, text: string): Buffer;
  /** The same under each accepted key, the one that seals first: what an earlier key has digested is found by one of them. */
  digests(purpose: string, text: string): Buffer[];
}

/** Written first, so that a later scheme can be told apart from this one. Which key it was is found by trying: there are one or two. */
const VERSION = 1;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const HEAD_BYTES = 1 + NONCE_BYTES + TAG_BYTES;

/**
 * AES-256-GCM under `hexKey`: 32 bytes as 64 hex digits (the setting ENCRYPTION_KEY). It also opens values that were
 * sealed under one of `accepted` (ENCRYPTION_KEYS_ACCEPTED).
 */
export function createCipher(hexKey: string, accepted: readonly string[] = []): Cipher {
  const keys = [hexKey, ...accepted].map((hex) => {
    if (!/^[0-9a-fA-F]{64}$/.test(hex)) throw new Error('the encryption key must be 64 hex digits');
    // From plain bytes Node makes a key object at each use: 42 µs for a small value instead of 5.
    return createSecretKey(hex, 'hex');
  });
  const own = keys[0]!;

  function seal(value: unknown): Buffer {
    const nonce = Buffer.from(drawBytes(NONCE_BYTES));
    const cipher = createCipheriv('aes-256-gcm', own, nonce);
    const text = Buffer.concat([cipher.update(JSON.stringify(value), 'utf8'), cipher.final()]);
    return Buffer.concat([Buffer.of(VERSION), nonce, cipher.getAuthTag(), text]);
  }

  function openWithAny(sealed: Uint8Array): { key: KeyObject; value: unknown } {
    if (sealed.length <= HEAD_BYTES || sealed[0] !== VERSION)
      throw new Error('these bytes were not sealed here');
    let cause: unknown;
    for (const key of keys) {
      try {
        return { key, value: JSON.parse(decrypt(key, sealed)) };
      } catch (err) {
        cause = err;
      }
    }
    throw new Error('these bytes were altered, or sealed with another ENCRYPTION_KEY', { cause });
  }

  return {
    seal,
    open: <T>(sealed: Uint8Array) => openWithAny(sealed).value as T,
    reseal(sealed) {
      const { key, value } = openWithAny(sealed);
      return key === own ? null : seal(value);
    },
    digest: (purpose, text) => digest(own, purpose, text),
    digests: (purpose, text) => keys.map((key) => digest(key, purpose, text)),
  };
}

/** Throws when the tag does not fit. */
function decrypt(key: KeyObject, sealed: Uint8Array): string {
  const nonce = sealed.subarray(1, 1 + NONCE_BYTES);
  const decipher = createDecipheriv('aes-256-gcm', key, nonce, { authTagLength: TAG_BYTES });
  decipher.setAuthTag(sealed.subarray(1 + NONCE_BYTES, HEAD_BYTES));
  const text = decipher.update(sealed.subarray(HEAD_BYTES));
  decipher.final();
  return text.toString('utf8');
}

function digest(key: KeyObject, purpose: string, text: string): Buffer {
  // A key of its own for each purpose: what is compared here can be compared nowhere else.
  const own = Buffer.from(hkdfSync('sha256', key, '', `posthorn digest ${purpose}`, 32));
  return createHmac('sha256', own).update(text).digest();
}

/** Null when no accepted key opens it. */
export function openOrNull<T>(cipher: Cipher, sealed: Uint8Array): T | null {
  try {
    return cipher.open<T>(sealed);
  } catch {
    return null;
  }
}
