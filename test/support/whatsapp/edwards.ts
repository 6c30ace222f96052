/**
 * The points of the curve behind Ed25519, in numbers. It is slow, and its timing reveals the secrets, so it is for a
 * simulated network only. Its signatures must not come from the code that the driver checks them with.
 */

const P = 2n ** 255n - 19n;
/** The order of the base point. */
export const ORDER = 2n ** 252n + 27742317777372353535851937790883648493n;
const D = mod(-121665n * invert(121666n));
const SQRT_MINUS_ONE = power(2n, (P - 1n) / 4n);

/** Extended coordinates: x = X / Z, y = Y / Z, T = X * Y / Z. */
interface Point {
  X: bigint;
  Y: bigint;
  Z: bigint;
  T: bigint;
}

const BASE = point(
  15112221349535400772501151409588531511454012693041857206046113283949847762202n,
  mod(4n * invert(5n)),
);

export function multiplyBase(scalar: bigint): Point {
  return multiply(BASE, scalar);
}

export function multiply(base: Point, scalar: bigint): Point {
  let sum = point(0n, 1n);
  let double = base;
  for (let rest = scalar; rest > 0n; rest >>= 1n) {
    if (rest & 1n) sum = add(sum, double);
    double = add(double, double);
  }
  return sum;
}

export function add(a: Point, b: Point): Point {
  const A = mod((a.Y - a.X) * (b.Y - b.X));
  const B = mod((a.Y + a.X) * (b.Y + b.X));
  const C = mod(2n * D * a.T * b.T);
  const E = B - A;
  const F = mod(2n * a.Z * b.Z - C);
  const G = mod(2n * a.Z * b.Z + C);
  const H = B + A;
  return { X: mod(E * F), Y: mod(G * H), Z: mod(F * G), T: mod(E * H) };
}

export function negate({ X, Y, Z, T }: Point): Point {
  return { X: mod(-X), Y, Z, T: mod(-T) };
}

/** The 32 bytes of a point: y, with the lowest bit of x on top. */
export function encode({ X, Y, Z }: Point): Buffer {
  const z = invert(Z);
  const bytes = toBytes(mod(Y * z));
  if (mod(X * z) & 1n) bytes[31] = bytes[31]! | 0x80;
  return bytes;
}

/** The point whose X25519 key is `key`, with the given lowest bit of x. Null when there is none. */
export function fromMontgomery(key: Uint8Array, sign: number): Point | null {
  const u = mod(toNumber(key) & (2n ** 255n - 1n));
  if (u === P - 1n) return null;
  const y = mod((u - 1n) * invert(u + 1n));
  const x = squareRoot(mod((y * y - 1n) * invert(D * y * y + 1n)));
  if (x === null) return null;
  return point(Number(x & 1n) === sign ? x : mod(-x), y);
}

export function toNumber(bytes: Uint8Array): bigint {
  return BigInt(`0x${Buffer.from(bytes).reverse().toString('hex') || '0'}`);
}

export function toBytes(value: bigint): Buffer {
  return Buffer.from(value.toString(16).padStart(64, '0'), 'hex').reverse();
}

function point(X: bigint, Y: bigint): Point {
  return { X, Y, Z: 1n, T: mod(X * Y) };
}

function squareRoot(value: bigint): bigint | null {
  const root = power(value, (P + 3n) / 8n);
  if (mod(root * root) === value) return root;
  const other = mod(root * SQRT_MINUS_ONE);
  return mod(other * other) === value ? other : null;
}

function invert(value: bigint): bigint {
  return power(mod(value), P - 2n);
}

function power(base: bigint, exponent: bigint): bigint {
  let result = 1n;
  let square = mod(base);
  for (let rest = exponent; rest > 0n; rest >>= 1n) {
    if (rest & 1n) result = mod(result * square);
    square = mod(square * square);
  }
  return result;
}

function mod(value: bigint): bigint {
  const rest = value % P;
  return rest < 0n ? rest + P : rest;
}
