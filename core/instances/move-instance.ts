import type { Db } from '../platform/database/db.ts';
import { type Lease, underLease } from './lock-leases.ts';

/**
 * Moves an instance whose session is closed to another shard, under the lease of its present shard. Returns false when
 * the instance has left that shard, or when the other shard has no live owner who would open the session. Throws
 * {@link LeaseLost}.
 *
 * The epoch that the new owner shows to the network is higher than the old owner's, even when the new shard has the
 * lower epoch.
 */
export async function moveInstance(
  db: Db,
  lease: Lease,
  { instanceId, to }: { instanceId: string; to: number },
): Promise<boolean> {
  const moved = await underLease(db, lease, (sql) =>
    sql.query({
      name: 'instances-move',
      text: `UPDATE instances i SET shard = target.shard, epoch_offset = greatest(0, $4 + i.epoch_offset + 1 - target.epoch)
             FROM shards target JOIN workers w ON w.id = target.owner_id
             WHERE i.id = $1 AND i.shard = $2 AND target.shard = $3`,
      values: [instanceId, lease.shard, to, lease.epoch],
    }),
  );
  return moved.rowCount === 1;
}

/** Which of these shards have a live owner. */
export async function findOwnedShards(db: Db, shards: readonly number[]): Promise<Set<number>> {
  const { rows } = await db.query<{ shard: number }>({
    name: 'shards-find-owned',
    text: `SELECT s.shard FROM shards s JOIN workers w ON w.id = s.owner_id WHERE s.shard = ANY ($1::smallint[])`,
    values: [shards],
  });
  return new Set(rows.map(({ shard }) => shard));
}
