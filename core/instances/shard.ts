import { hash } from 'node:crypto';
import type { Sql } from '../platform/database/db.ts';

/** The shards of a new installation. Afterwards there are as many as the table `shards` has rows (INS-15). */
export const DEFAULT_SHARDS = 32;

/** More than any fleet needs; each one is a row that owners lock and count. */
export const SHARDS_MAX = 4_096;

export const COUNT_SHARDS = 'SELECT count(*)::integer AS shards FROM shards';

/** How many shards there are: 0 to one less. */
export async function countShards(sql: Sql): Promise<number> {
  const { rows } = await sql.query<{ shards: number }>(COUNT_SHARDS);
  return rows[0]!.shards;
}

/** The shard where an instance belongs among so many, unless an operator placed it elsewhere: the same on every machine. */
export function shardOf(instanceId: string, shards: number): number {
  // The random half of a v7 UUID would do, but ids may come from elsewhere: a hash spreads any of them.
  return hash('sha256', instanceId.toLowerCase(), 'buffer').readUInt32BE(0) % shards;
}

/** The shard where it belongs: the one that an operator chose for it, else that of its hash. */
export function homeOf({ id, placed }: { id: string; placed: number | null }, shards: number): number {
  return placed ?? shardOf(id, shards);
}

/**
 * The broker queue of a shard in the release before, which has no others. Beside such a worker its owner publishes to it
 * and takes from it; new workers have a queue each.
 */
export function shardQueue(shard: number): string {
  return `posthorn.dispatch.${shard}`;
}
