import {
  createCipheriv,
  createDecipheriv,
  createHash,
  createHmac,
  createPrivateKey,
  createPublicKey,
  diffieHellman,
  generateKeyPairSync,
  hkdfSync,
  randomBytes,
} from 'node:crypto';
import {
  add,
  encode,
  fromMontgomery,
  multiply,
  multiplyBase,
  negate,
  ORDER,
  toBytes,
  toNumber,
} from './edwards.ts';

/** The cryptography of the simulated network, on node:crypto and our own arithmetic: nothing comes from the library. */

export interface Keys {
  private: Buffer;
  /** 32 bytes, without the key type. */
  public: Buffer;
}

const PRIVATE_PREFIX = Buffer.from('302e020100300506032b656e04220420', 'hex');
const PUBLIC_PREFIX = Buffer.from('302a300506032b656e032100', 'hex');
const KEY_TYPE = Buffer.from([5]);

export function generateKeys(): Keys {
  const pair = generateKeyPairSync('x25519');
  const secret = pair.privateKey.export({ format: 'der', type: 'pkcs8' });
  const open = pair.publicKey.export({ format: 'der', type: 'spki' });
  return { private: Buffer.from(secret.subarray(-32)), public: Buffer.from(open.subarray(-32)) };
}

export function agree(secret: Buffer, open: Uint8Array): Buffer {
  return diffieHellman({
    privateKey: createPrivateKey({
      key: Buffer.concat([PRIVATE_PREFIX, secret]),
      format: 'der',
      type: 'pkcs8',
    }),
    publicKey: createPublicKey({
      key: Buffer.concat([PUBLIC_PREFIX, withoutType(open)]),
      format: 'der',
      type: 'spki',
    }),
  });
}

/** A key as the messages carry it: 33 bytes, the type first. */
export function withType(open: Uint8Array): Buffer {
  return open.length === 33 ? Buffer.from(open) : Buffer.concat([KEY_TYPE, open]);
}

export function withoutType(open: Uint8Array): Buffer {
  return Buffer.from(open.length === 33 ? open.subarray(1) : open);
}

/** XEdDSA: a signature of an X25519 key that Ed25519's check accepts. */
export function sign(secret: Buffer, message: Uint8Array): Buffer {
  const clamped = Buffer.from(secret);
  clamped[0] = clamped[0]! & 248;
  clamped[31] = (clamped[31]! & 127) | 64;
  const k = toNumber(clamped) % ORDER;
  // The key whose point has an even x: then the checker needs no sign.
  const isOdd = (encode(multiplyBase(k))[31]! & 0x80) !== 0;
  const a = isOdd ? ORDER - k : k;
  const A = encode(multiplyBase(a));
  const padding = Buffer.concat([Buffer.from([0xfe]), Buffer.alloc(31, 0xff)]);
  const r = hashNumber(padding, toBytes(a), message, randomBytes(64));
  const R = encode(multiplyBase(r));
  const s = (r + hashNumber(R, A, message) * a) % ORDER;
  return Buffer.concat([R, toBytes(s)]);
}

/** Checks such a signature by arithmetic: another way than the driver's, which uses node:crypto. */
export function isSignedBy(open: Uint8Array, message: Uint8Array, signature: Uint8Array): boolean {
  if (signature.length !== 64) return false;
  const R = signature.subarray(0, 32);
  const last = Buffer.from(signature.subarray(32));
  const A = fromMontgomery(withoutType(open), last[31]! >> 7);
  last[31] = last[31]! & 0x7f;
  const s = toNumber(last);
  if (A === null || s >= ORDER) return false;
  const h = hashNumber(R, encode(A), message);
  return encode(add(multiplyBase(s), negate(multiply(A, h)))).equals(R);
}

export function sha256(...parts: readonly Uint8Array[]): Buffer {
  const hash = createHash('sha256');
  for (const part of parts) hash.update(part);
  return hash.digest();
}

export function hmac(key: Uint8Array, ...parts: readonly Uint8Array[]): Buffer {
  const mac = createHmac('sha256', key);
  for (const part of parts) mac.update(part);
  return mac.digest();
}

export function hkdf(
  secret: Uint8Array,
  bytes: number,
  info: string,
  salt: Uint8Array = Buffer.alloc(32),
): Buffer {
  return Buffer.from(hkdfSync('sha256', secret, salt, info, bytes));
}

export function sealGcm(key: Uint8Array, iv: Uint8Array, plain: Uint8Array, aad: Uint8Array): Buffer {
  const cipher = createCipheriv('aes-256-gcm', key, iv).setAAD(aad);
  return Buffer.concat([cipher.update(plain), cipher.final(), cipher.getAuthTag()]);
}

/** Throws when it was not sealed with this key. */
export function openGcm(key: Uint8Array, iv: Uint8Array, sealed: Uint8Array, aad: Uint8Array): Buffer {
  const cipher = createDecipheriv('aes-256-gcm', key, iv).setAAD(aad).setAuthTag(sealed.subarray(-16));
  return Buffer.concat([cipher.update(sealed.subarray(0, -16)), cipher.final()]);
}

export function sealCbc(key: Uint8Array, iv: Uint8Array, plain: Uint8Array): Buffer {
  const cipher = createCipheriv('aes-256-cbc', key, iv);
  return Buffer.concat([cipher.update(plain), cipher.final()]);
}

export function openCbc(key: Uint8Array, iv: Uint8Array, sealed: Uint8Array): Buffer {
  const cipher = createDecipheriv('aes-256-cbc', key, iv);
  return Buffer.concat([cipher.update(sealed), cipher.final()]);
}

function hashNumber(...parts: readonly Uint8Array[]): bigint {
  const hash = createHash('sha512');
  for (const part of parts) hash.update(part);
  return toNumber(hash.digest()) % ORDER;
}
