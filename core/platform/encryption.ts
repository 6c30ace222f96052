import {
  createCipheriv,
  createDecipheriv,
  createHmac,
  createSecretKey,
  hkdfSync,
  randomBytes,
} from 'node:crypto';

/** Keeps what must not be read out of a stolen database: network credentials, webhook secrets and headers. */
export interface Cipher {
  /** Any JSON value, sealed: one version byte, 12 bytes of nonce, 16 of tag, then the ciphertext. */
  seal(value: unknown): Buffer;
  /** Gives the value that {@link Cipher.seal} was given. Throws when the bytes were altered or sealed with another key. */
  open<T = unknown>(sealed: Uint8Array): T;
  /** 32 bytes that are the same for the same text and purpose, and tell nothing of it to who lacks the key. */
  digest(purpose: string, text: string): Buffer;
}

/** Written first, so that a later scheme (or a second key) can be told apart from this one. */
const VERSION = 1;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/** AES-256-GCM under `hexKey`: 32 bytes as 64 hex digits (the setting ENCRYPTION_KEY). */
export function createCipher(hexKey: string): Cipher {
  if (!/^[0-9a-fA-F]{64}$/.test(hexKey)) throw new Error('the encryption key must be 64 hex digits');
  // From plain bytes Node makes a key object at each use: 42 µs for a small value instead of 5.
  const key = createSecretKey(hexKey, 'hex');
  return {
    seal(value) {
      const nonce = randomBytes(NONCE_BYTES);
      const cipher = createCipheriv('aes-256-gcm', key, nonce);
      const text = Buffer.concat([cipher.update(JSON.stringify(value), 'utf8'), cipher.final()]);
      return Buffer.concat([Buffer.of(VERSION), nonce, cipher.getAuthTag(), text]);
    },
    open<T>(sealed: Uint8Array): T {
      if (sealed.length <= 1 + NONCE_BYTES + TAG_BYTES || sealed[0] !== VERSION)
        throw new Error('these bytes were not sealed here');
      const nonce = sealed.subarray(1, 1 + NONCE_BYTES);
      const decipher = createDecipheriv('aes-256-gcm', key, nonce, { authTagLength: TAG_BYTES });
      decipher.setAuthTag(sealed.subarray(1 + NONCE_BYTES, 1 + NONCE_BYTES + TAG_BYTES));
      const text = decipher.update(sealed.subarray(1 + NONCE_BYTES + TAG_BYTES));
      try {
        // Gives no more bytes, and throws when the tag does not fit.
        decipher.final();
      } catch (cause) {
        throw new Error('these bytes were altered, or sealed with another ENCRYPTION_KEY', { cause });
      }
      return JSON.parse(text.toString('utf8')) as T;
    },
    digest(purpose, text) {
      // A key of its own for each purpose: what is compared here can be compared nowhere else.
      const own = Buffer.from(hkdfSync('sha256', key, '', `posthorn digest ${purpose}`, 32));
      return createHmac('sha256', own).update(text).digest();
    },
  };
}
