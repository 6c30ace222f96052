/**
 * Replaces `crypto` for the library and its signal library: the same functions, which take keys as key objects. Node
 * finds out what a key is by trying, which for plain bytes throws within it: a small cipher takes 42 µs instead of 8.
 * To encrypt a text takes about twenty. Few random bytes, such as the one that says how long the padding of a text is,
 * are drawn from a pool.
 */
import crypto, { createSecretKey, type KeyObject } from 'node:crypto';
import { types } from 'node:util';
import { drawBytes } from '@posthorn/core/platform/draw-bytes.ts';

export * from 'node:crypto';

type Key = Parameters<typeof crypto.createHmac>[1];

/** Any other key goes to Node as it is; Node reports an invalid one. */
function asObject<T extends Key | crypto.CipherKey>(key: T): T | KeyObject {
  return types.isUint8Array(key) && key.byteLength > 0 ? createSecretKey(key) : key;
}

export const createHmac: typeof crypto.createHmac = (algorithm, key, options) =>
  crypto.createHmac(algorithm, asObject(key), options);

export const createCipheriv = ((...[algorithm, key, ...rest]: Parameters<typeof crypto.createCipheriv>) =>
  crypto.createCipheriv(algorithm, asObject(key), ...rest)) as typeof crypto.createCipheriv;

export const createDecipheriv = ((...[algorithm, key, ...rest]: Parameters<typeof crypto.createDecipheriv>) =>
  crypto.createDecipheriv(algorithm, asObject(key), ...rest)) as typeof crypto.createDecipheriv;

/** Less than a key: seeds of keys do not stay in the pool. */
const DRAWN_MAX_BYTES = 16;

export const randomBytes = ((...[size, done]: [number, ((err: Error | null, bytes: Buffer) => void)?]) => {
  if (done) return crypto.randomBytes(size, done);
  return size <= DRAWN_MAX_BYTES ? Buffer.from(drawBytes(size)) : crypto.randomBytes(size);
}) as typeof crypto.randomBytes;
