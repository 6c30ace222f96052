import { createPublicKey, verify } from 'node:crypto';

/**
 * Verifies signatures of X25519 keys (XEdDSA) with our own code.
 * The library makes these checks and ignores the result: its `Curve.verify` returns true for every signature,
 * in the certificate of the network's server and in pairing, and the signature of a contact's signed prekey
 * is not checked when a session begins. It also never compares the key in the server's certificate with the
 * key the server presents, so that anyone could present the network's own certificate. An attacker between us
 * and the network could impersonate either side. `replaceChecks` and `replaceSignalChecks` install the checks
 * below in all these places.
 */

const P = 2n ** 255n - 19n;
/** SubjectPublicKeyInfo of an Ed25519 key, up to its 32 bytes. */
const ED25519_PREFIX = Buffer.from('302a300506032b6570032100', 'hex');
const KEY_TYPE = 5;

/**
 * Whether `signature` (64 bytes) was made over `message` by the owner of `publicKey` (an X25519 key: 32
 * bytes, or 33 with the network's key type first). Never throws: malformed input is not a signature.
 */
export function isSigned(publicKey: Uint8Array, message: Uint8Array, signature: Uint8Array): boolean {
  const key = rawKey(publicKey);
  if (key === null || signature.length !== 64) return false;
  const point = toEdwards(key, signature[63]! & 0x80);
  if (point === null) return false;
  // The top bit of the signature holds the sign of the Edwards point and is not part of the signature.
  const plain = Buffer.from(signature);
  plain[63] = plain[63]! & 0x7f;
  const edKey = createPublicKey({ key: Buffer.concat([ED25519_PREFIX, point]), format: 'der', type: 'spki' });
  return verify(null, message, edKey, plain);
}

/** The functions in the library's two packages that check signatures. */
export interface Checks {
  Curve: {
    sharedKey(privateKey: Uint8Array, publicKey: Uint8Array): Uint8Array;
    verify(publicKey: Uint8Array, message: Uint8Array, signature: Uint8Array): boolean;
  };
}
export interface SignalCurve {
  verifySignature(
    publicKey: Uint8Array,
    message: Uint8Array,
    signature: Uint8Array,
    isInit?: boolean,
  ): boolean;
}

/** Makes the signal library throw on a wrong signature: most of its callers ignore the return value. */
export function replaceSignalChecks(curve: SignalCurve): void {
  curve.verifySignature = (publicKey, message, signature) => {
    if (!isSigned(publicKey, message, signature)) throw new Error('Wrong signature');
    return true;
  };
}

/**
 * Marks functions that have our checks already: the library is loaded for each session, but its functions are
 * shared.
 */
const CHECKED = Symbol.for('posthorn.whatsapp.checked');

/** Data that an account signs for a device begins with this byte; certificate details never do. */
const ACCOUNT_SIGNATURE = 6;

/**
 * Makes the library's `verify` return the truth, and ties the server's certificate to the server: in the
 * handshake the library agrees on a secret with the server's key and then, without a pause, checks the
 * certificate's last link and the one above it. So the first certificate checked after a key agreement must
 * belong to that key. Repeated calls have no effect.
 */
export function replaceChecks(library: Checks): void {
  if (CHECKED in library.Curve) return;
  Object.assign(library.Curve, { [CHECKED]: true });
  const { sharedKey } = library.Curve;
  let agreed: Uint8Array | null = null;
  library.Curve.sharedKey = (privateKey, publicKey) => {
    agreed = publicKey;
    return sharedKey(privateKey, publicKey);
  };
  library.Curve.verify = (publicKey, message, signature) => {
    if (!isSigned(publicKey, message, signature)) return false;
    if (message[0] === ACCOUNT_SIGNATURE) return true;
    const shown = agreed;
    agreed = null;
    return shown === null || certifies(message, shown);
  };
}

/** Whether certificate details (numbers, then the key as field 3) contain this key. */
function certifies(details: Uint8Array, key: Uint8Array): boolean {
  const KEY_FIELD = 0x1a;
  let at = 0;
  while (at < details.length && (details[at]! & 7) === 0) {
    at += 1;
    while (at < details.length && details[at]! >= 0x80) at += 1;
    at += 1;
  }
  return (
    details[at] === KEY_FIELD &&
    details[at + 1] === key.length &&
    Buffer.from(details.subarray(at + 2, at + 2 + key.length)).equals(key)
  );
}

function rawKey(key: Uint8Array): Uint8Array | null {
  if (key.length === 32) return key;
  return key.length === 33 && key[0] === KEY_TYPE ? key.subarray(1) : null;
}

/** The Ed25519 form of an X25519 key: y = (u - 1) / (u + 1). Null if the division is impossible. */
function toEdwards(key: Uint8Array, signBit: number): Buffer | null {
  const little = Buffer.from(key);
  little[31] = little[31]! & 0x7f;
  const u = BigInt(`0x${little.reverse().toString('hex')}`);
  // A number with two encodings could pass for two keys.
  if (u >= P) return null;
  const divisor = inverse(u + 1n);
  if (divisor === null) return null;
  const y = (((u - 1n + P) % P) * divisor) % P;
  const bytes = Buffer.from(y.toString(16).padStart(64, '0'), 'hex').reverse();
  bytes[31] = bytes[31]! | signBit;
  return bytes;
}

/** The inverse modulo P (Euclid's algorithm; only for public keys, so its timing may reveal the number). */
function inverse(value: bigint): bigint | null {
  let [a, b] = [value % P, P];
  let [x, y] = [1n, 0n];
  while (b !== 0n) {
    const q = a / b;
    [a, b] = [b, a - q * b];
    [x, y] = [y, x - q * y];
  }
  return a === 1n ? ((x % P) + P) % P : null;
}
