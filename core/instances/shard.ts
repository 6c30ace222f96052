import { createHash } from 'node:crypto';

/** Instances are spread over this many shards for ever: the number is written into every row (INS-15). */
export const SHARD_COUNT = 32;

/** The shard of an instance: the same for the same id on every machine and in every version. */
export function shardOf(instanceId: string): number {
  // The random half of a v7 UUID would do, but ids may come from elsewhere: a hash spreads any of them.
  return createHash('sha256').update(instanceId.toLowerCase()).digest().readUInt32BE(0) % SHARD_COUNT;
}

/** The broker queue that wakes the owner of a shard. */
export function shardQueue(shard: number): string {
  return `posthorn.dispatch.${shard}`;
}
