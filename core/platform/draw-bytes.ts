import { randomFillSync } from 'node:crypto';

/** Bytes for many ids and nonces: drawn one by one they are three quarters of what an id costs. */
const pool = new Uint8Array(4096);
let poolAt = pool.length;

/**
 * Random bytes, 4096 at most, that were given to nobody before. They are a part of the pool and stay as they are only until it is
 * filled anew: use them at once, or copy them.
 */
export function drawBytes(count: number): Uint8Array {
  if (poolAt + count > pool.length) {
    randomFillSync(pool);
    poolAt = 0;
  }
  poolAt += count;
  return pool.subarray(poolAt - count, poolAt);
}
