import { ADVISORY_LOCKS } from '../platform/database/advisory-locks.ts';
import type { Sql } from '../platform/database/db.ts';

/**
 * First halves of the advisory locks' keys: a live worker, an owned shard, a worker that is to have no share, the ENCRYPTION_KEY that
 * workers seal with.
 */
export const WORKER_LOCK = ADVISORY_LOCKS.worker;
export const SHARD_LOCK = ADVISORY_LOCKS.shard;
export const DRAIN_LOCK = ADVISORY_LOCKS.drain;
export const KEY_LOCK = ADVISORY_LOCKS.sealingKey;

/** Payload of a notification on `workers`: this worker is to give all its shards away. */
export function drainNotification(workerId: number): string {
  return `drain:${workerId}`;
}

/** Payload of a notification on `workers`: there are more shards, or instances that belong to other ones. */
export const LOOK_AGAIN = 'look';

/** Without its lock, and without a heartbeat for so long: the process is dead. A cut connection is back sooner. */
const GONE_AFTER_MS = 2_000;
/** With its lock, but without a heartbeat for so long: the process is frozen. */
const FROZEN_AFTER_MS = 8_000;
/** A heartbeat that is ahead by more was given before the database's clock was set back, and would look young until the clock is there again. */
const AHEAD_MS = 2_000;

/** Enters a worker among the living, on the connection that will hold its locks. Gives its id. */
export async function enterWorker(sql: Sql, worker: { name: string; tag: string }): Promise<number> {
  const { rows } = await sql.query<{ id: number }>(
    'INSERT INTO workers (name, tag, backend_pid, any_shard) VALUES ($1, $2, pg_backend_pid(), true) RETURNING id',
    [worker.name, worker.tag],
  );
  return rows[0]!.id;
}

/** A heartbeat; false when the worker was declared dead. It need not survive a crash of the database. */
export async function beat(sql: Sql, id: number): Promise<boolean> {
  const { rowCount } = await sql.query({
    name: 'workers-beat',
    text: `WITH nowait AS MATERIALIZED (SELECT set_config('synchronous_commit', 'off', true))
           UPDATE workers SET beat_at = clock_timestamp(), backend_pid = pg_backend_pid()
           FROM nowait WHERE id = $1`,
    values: [id],
  });
  return rowCount === 1;
}

/** Names the broker queue from which a worker takes its wake-ups. */
export async function nameQueue(sql: Sql, id: number, queue: string): Promise<void> {
  await sql.query('UPDATE workers SET queue = $2 WHERE id = $1', [id, queue]);
}

export async function leaveWorker(sql: Sql, id: number): Promise<void> {
  await sql.query('DELETE FROM workers WHERE id = $1', [id]);
}

const DEAD = `
  (worker.beat_at < clock_timestamp() - interval '${FROZEN_AFTER_MS} ms'
   OR worker.beat_at < clock_timestamp() - interval '${GONE_AFTER_MS} ms' AND NOT EXISTS (
     SELECT FROM pg_locks l
     WHERE l.locktype = 'advisory' AND l.granted AND l.objsubid = 2 AND l.classid = ${WORKER_LOCK}
       AND l.objid = worker.id::oid
       AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())))`;

/**
 * Each connection of a worker's process carries its tag. Compare them within this database: a copy of it on the same server, restored
 * from a dump, names the living workers of the original.
 */
export const IS_OF_WORKER = `a.application_name LIKE '%' || worker.tag || '%'`;

const AHEAD = `worker.beat_at > clock_timestamp() + interval '${AHEAD_MS} ms'`;

/** Workers that give no sign of life any more. One whose heartbeat is ahead of the clock is judged as if that had come now. */
export async function findDead(sql: Sql, self: number): Promise<{ id: number; name: string }[]> {
  const { rows } = await sql.query<{ id: number; name: string; is_ahead: boolean }>({
    name: 'workers-find-dead',
    text: `SELECT worker.id, worker.name, ${AHEAD} AS is_ahead FROM workers worker
           WHERE worker.id <> $1 AND (${DEAD} OR ${AHEAD})`,
    values: [self],
  });
  if (rows.some((row) => row.is_ahead))
    await sql.query(
      `UPDATE workers worker SET beat_at = clock_timestamp() WHERE worker.id <> $1 AND ${AHEAD}`,
      [self],
    );
  return rows.flatMap(({ is_ahead, ...worker }) => (is_ahead ? [] : [worker]));
}

/**
 * Declares workers dead, unless they gave a sign of life meanwhile; gives those that were declared dead. First
 * their connections are ended: that frees their locks and rolls back what they were frozen in. Then, in one
 * statement, the epochs of their shards are raised, so that nothing of theirs is recorded any more, and their
 * rows go, with which their claims are free. The name of the last owner stays in its shards: nobody handed them
 * over, so the next owner is careful with what they were at. A caller that dies in between leaves it to the next one.
 *
 * Connections of other database roles may not be ended by us, and are passed over: those have time limits. A worker
 * whose registration went through while its answer was lost has registered again, and its connections stay.
 */
export async function fenceDead(sql: Sql, ids: readonly number[]): Promise<number[]> {
  await sql.query(
    `SELECT pg_terminate_backend(a.pid) FROM workers worker
     JOIN pg_stat_activity a ON a.usename = session_user AND a.datname = current_database()
       AND (${IS_OF_WORKER} OR a.pid = worker.backend_pid AND a.backend_start <= worker.beat_at)
     WHERE worker.id = ANY ($1::int[]) AND ${DEAD} AND a.pid <> pg_backend_pid()
       AND NOT EXISTS (SELECT FROM workers again WHERE again.tag = worker.tag AND again.id <> ALL ($1::int[]))`,
    [ids],
  );
  const { rows } = await sql.query<{ id: number }>(
    `WITH dead AS (
       DELETE FROM workers worker WHERE worker.id = ANY ($1::int[]) AND ${DEAD} RETURNING worker.id
     ), theirs AS (
       SELECT s.shard FROM shards s JOIN dead ON dead.id = s.owner_id ORDER BY s.shard FOR NO KEY UPDATE OF s
     ), fenced AS (
       UPDATE shards SET epoch = epoch + 1, owner_id = NULL FROM theirs WHERE shards.shard = theirs.shard
     )
     SELECT id FROM dead`,
    [ids],
  );
  return rows.map((row) => row.id);
}
