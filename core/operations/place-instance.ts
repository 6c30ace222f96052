import { countShards, shardOf } from '../instances/shard.ts';
import type { Db } from '../platform/database/db.ts';
import { StartError } from '../platform/run-main.ts';
import { askToLook, refuseLimitedWorkers } from './raise-shards.ts';

/** A shard by its number, that shard of a worker which has the fewest instances, or the one of the hash of its id. */
export type Place = { shard: number } | { workerId: number } | 'home';

/**
 * Says where an instance belongs from now on, whatever the number of shards; its owner moves it there. Gives the shard.
 * Throws {@link StartError}.
 */
export async function placeInstance(db: Db, instanceId: string, place: Place): Promise<number> {
  await refuseLimitedWorkers(db);
  const shards = await countShards(db);
  const to = await findShard(db, { instanceId, place, shards });
  const placed = await db.query('UPDATE instances SET placed = $2 WHERE id = $1', [
    instanceId,
    place === 'home' ? null : to,
  ]);
  if (placed.rowCount === 0) throw new StartError(`there is no instance ${instanceId}`);
  await askToLook(db);
  return to;
}

async function findShard(
  db: Db,
  { instanceId, place, shards }: { instanceId: string; place: Place; shards: number },
): Promise<number> {
  if (place === 'home') return shardOf(instanceId, shards);
  if ('shard' in place) {
    if (place.shard >= shards) throw new StartError(`the shards are 0 to ${shards - 1}`);
    return place.shard;
  }
  const { rows } = await db.query<{ shard: number }>(
    `SELECT s.shard FROM shards s JOIN workers w ON w.id = s.owner_id LEFT JOIN instances i ON i.shard = s.shard
     WHERE w.id = $1 GROUP BY s.shard ORDER BY count(i.id), s.shard LIMIT 1`,
    [place.workerId],
  );
  if (!rows[0]) throw new StartError(`worker ${place.workerId} has no shards`);
  return rows[0].shard;
}

/** Whether it is in that shard. */
export async function isInShard(db: Db, instanceId: string, shard: number): Promise<boolean> {
  const { rows } = await db.query('SELECT FROM instances WHERE id = $1 AND shard = $2', [instanceId, shard]);
  return rows.length > 0;
}
