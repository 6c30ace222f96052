import { createPublicKey, verify } from 'node:crypto';

/**
 * Signatures of X25519 keys (XEdDSA), checked by our own code.
 *
 * The library asks for these checks and ignores the answer: its `Curve.verify` says true to every signature, in the
 * certificate of the network's server and in pairing, and the signature of a contact's signed prekey is not looked at
 * when a session begins. It also never compares the key in the server's certificate with the key that the server
 * shows, so that anybody could show the network's own certificate. Whoever stands between us and the network could be
 * either end. `replaceChecks` and `replaceSignalChecks` put the checks below in all these places.
 */

const P = 2n ** 255n - 19n;
/** SubjectPublicKeyInfo of an Ed25519 key, up to its 32 bytes. */
const ED25519_PREFIX = Buffer.from('302a300506032b6570032100', 'hex');
const KEY_TYPE = 5;

/**
 * Whether `signature` (64 bytes) is that of the owner of `publicKey` (an X25519 key: 32 bytes, or 33 with the network's
 * key type before it) under `message`. Never throws: what has not the right form is not a signature.
 */
export function isSigned(publicKey: Uint8Array, message: Uint8Array, signature: Uint8Array): boolean {
  const key = rawKey(publicKey);
  if (key === null || signature.length !== 64) return false;
  const point = toEdwards(key, signature[63]! & 0x80);
  if (point === null) return false;
  // The sign of the Edwards point travels in the top bit of the signature, which is not part of it.
  const plain = Buffer.from(signature);
  plain[63] = plain[63]! & 0x7f;
  const edKey = createPublicKey({ key: Buffer.concat([ED25519_PREFIX, point]), format: 'der', type: 'spki' });
  return verify(null, message, edKey, plain);
}

/** The functions of the library's two packages that check signatures. */
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

/** Makes the signal library refuse a wrong signature by throwing: most of its callers ignore what it returns. */
export function replaceSignalChecks(curve: SignalCurve): void {
  curve.verifySignature = (publicKey, message, signature) => {
    if (!isSigned(publicKey, message, signature)) throw new Error('Wrong signature');
    return true;
  };
}

/** Marks what has our checks already: the library is loaded for each session, and its functions are one for all. */
const CHECKED = Symbol.for('posthorn.whatsapp.checked');

/** What an account signs of a device begins with this byte; details of a certificate never do. */
const ACCOUNT_SIGNATURE = 6;

/**
 * Makes the library's own `verify` answer what is true, and ties the server's certificate to the server: in the
 * handshake the library agrees on a secret with the server's key and then, in the same breath, checks the
 * certificate's last link and the one above it. So the certificate that is checked first after a key was agreed with
 * must be that key's. More than once is once.
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

/** Whether the details of a certificate (numbers, and the key as field 3) name this key. */
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

/** The Ed25519 form of an X25519 key: y = (u - 1) / (u + 1). Null where the division has no answer. */
function toEdwards(key: Uint8Array, signBit: number): Buffer | null {
  const little = Buffer.from(key);
  little[31] = little[31]! & 0x7f;
  const u = BigInt(`0x${little.reverse().toString('hex')}`);
  // A number with two writings could pass for two keys.
  if (u >= P) return null;
  const divisor = inverse(u + 1n);
  if (divisor === null) return null;
  const y = (((u - 1n + P) % P) * divisor) % P;
  const bytes = Buffer.from(y.toString(16).padStart(64, '0'), 'hex').reverse();
  bytes[31] = bytes[31]! | signBit;
  return bytes;
}

/** The inverse modulo P (Euclid's algorithm; public keys only, so its time may tell the number). */
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
