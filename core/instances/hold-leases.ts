import type { Sql } from '../platform/db.ts';

/** Ownership of a shard: the epoch grows with every new owner. */
export interface Lease {
  shard: number;
  epoch: number;
  /** The owner before did not hand it over: it may have died of something that comes again. */
  afterCrash?: boolean;
}

/**
 * Which of these leases still stand, held until the transaction ends: a new owner's epoch waits for
 * this commit, and a worker that lost a shard finds its lease gone. Call it first in a transaction.
 */
export async function holdLeases(sql: Sql, leases: readonly Lease[]): Promise<Set<number>> {
  const wanted = new Map(leases.map((lease) => [lease.shard, lease.epoch]));
  const held = await sql.query<{ shard: number }>({
    name: 'shards-hold-leases',
    text: `SELECT shards.shard FROM unnest($1::smallint[], $2::bigint[]) AS lease (shard, epoch)
           JOIN shards ON shards.shard = lease.shard AND shards.epoch = lease.epoch
           ORDER BY shards.shard FOR SHARE OF shards`,
    values: [[...wanted.keys()], [...wanted.values()]],
  });
  return new Set(held.rows.map((row) => row.shard));
}
