import type { Sql } from '../platform/database/db.ts';
import { DRAIN_LOCK, IS_OF_WORKER, SHARD_LOCK, WORKER_LOCK } from './members.ts';

/** How the shards are shared at one moment. All statements here are of many shards each, on the connection with the locks. */
export interface Shares {
  /** How many shards there are. */
  shards: number;
  /** The live workers that take shards. */
  workers: number[];
  /** Those of them from the release before, which take the first 32 only. */
  limited: number[];
  /** How many shards each worker holds, by its id; empty when there are none to deal. */
  held: Record<string, number>;
  /** Shards without a lock, ascending. */
  free: number[];
  /** Those of them that this worker held last. */
  own: number[];
}

export async function readShares(sql: Sql, self: number): Promise<Shares> {
  const { rows } = await sql.query<Shares>({
    name: 'shards-read-shares',
    text: `
WITH locks AS MATERIALIZED (
  SELECT classid::bigint::integer AS kind, objid::bigint::integer AS id FROM pg_locks
  WHERE locktype = 'advisory' AND granted AND objsubid = 2 AND classid IN (${WORKER_LOCK}, ${SHARD_LOCK}, ${DRAIN_LOCK})
    AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
), known AS MATERIALIZED (
  SELECT s.shard::integer, s.owner_id, s.shard IN (SELECT id FROM locks WHERE kind = ${SHARD_LOCK}) AS taken FROM shards s
)
SELECT (SELECT count(*)::integer FROM known) AS shards,
  ARRAY(SELECT id FROM locks WHERE kind = ${WORKER_LOCK} EXCEPT SELECT id FROM locks WHERE kind = ${DRAIN_LOCK}) AS workers,
  ARRAY(SELECT id FROM workers WHERE NOT any_shard) AS limited,
  CASE WHEN EXISTS (SELECT FROM known WHERE NOT taken) THEN coalesce((SELECT json_object_agg(owner_id, n) FROM (
    SELECT owner_id, count(*) AS n FROM known WHERE taken AND owner_id IS NOT NULL GROUP BY owner_id) AS counted), '{}')
  ELSE '{}' END AS held,
  ARRAY(SELECT shard FROM known WHERE NOT taken ORDER BY shard) AS free,
  ARRAY(SELECT shard FROM known WHERE NOT taken AND owner_id = $1 ORDER BY shard) AS own`,
    values: [self],
  });
  return rows[0]!;
}

/** Tries the locks of these shards, each once and without waiting; gives those that it got. */
export async function tryShards(sql: Sql, shards: readonly number[]): Promise<number[]> {
  const { rows } = await sql.query<{ shard: number }>({
    name: 'shards-try-locks',
    text: `SELECT shard FROM unnest($1::smallint[]) AS shard WHERE pg_try_advisory_lock(${SHARD_LOCK}, shard)`,
    values: [shards],
  });
  return rows.map(({ shard }) => shard);
}

export async function unlockShards(sql: Sql, shards: readonly number[]): Promise<void> {
  await sql.query({
    name: 'shards-unlock',
    text: `SELECT pg_advisory_unlock(${SHARD_LOCK}, shard) FROM unnest($1::smallint[]) AS shard`,
    values: [shards],
  });
}

export interface Raised {
  shard: number;
  epoch: number;
  after_crash: boolean;
}

/**
 * Enters the owner of shards whose locks it has. Leaves out those that a writer of the former owner still holds: they are
 * tried again later.
 */
export async function raiseEpochs(
  sql: Sql,
  owner: { name: string; id: number },
  shards: readonly number[],
): Promise<Raised[]> {
  const { rows } = await sql.query<Raised>({
    name: 'shards-raise-epochs',
    text: `UPDATE shards SET epoch = last.epoch + 1, owner = $2, owner_id = $3, acquired_at = now()
           FROM (SELECT shard, epoch, owner FROM shards WHERE shard = ANY ($1::smallint[])
                 ORDER BY shard FOR UPDATE SKIP LOCKED) AS last
           WHERE shards.shard = last.shard
           RETURNING shards.shard, shards.epoch, last.owner IS NOT NULL AS after_crash`,
    values: [shards, owner.name, owner.id],
  });
  return rows;
}

interface HeldShard {
  shard: number;
  epoch: number;
}

/** Shards without an owner were handed over; if one still names its last owner, the next one assumes a crash. */
export async function handOver(sql: Sql, leases: readonly HeldShard[]): Promise<void> {
  await sql.query(`UPDATE shards SET owner = NULL, owner_id = NULL ${OF_LEASES}`, valuesOf(leases));
}

/**
 * Lets others take lost shards whose sessions are closed. Their next owners still assume a crash. Changes nothing of those
 * that have a new owner.
 */
export async function leaveToOthers(sql: Sql, leases: readonly HeldShard[]): Promise<void> {
  await sql.query(`UPDATE shards SET owner_id = NULL ${OF_LEASES}`, valuesOf(leases));
}

/** Locked in the order of the shards, as by all that change several: two that do so at once do not wait for each other. */
const OF_LEASES = `FROM (
    SELECT s.shard FROM shards s JOIN unnest($1::smallint[], $2::bigint[]) AS lease (shard, epoch)
      ON s.shard = lease.shard AND s.epoch = lease.epoch
    ORDER BY s.shard FOR NO KEY UPDATE OF s) AS leased
  WHERE shards.shard = leased.shard`;

function valuesOf(leases: readonly HeldShard[]): unknown[] {
  return [leases.map(({ shard }) => shard), leases.map(({ epoch }) => epoch)];
}

/**
 * Those of `shards` whose last owner, another worker, may still have their sessions open, whether or not it has their locks:
 * one that lost the connection with its locks closes its sessions, which takes time, or takes its locks again. It is there
 * while its process has any connection. `orHasRow`: already while it has its row, as when all have lost their connections.
 */
export async function findShardsInUse(
  sql: Sql,
  shards: readonly number[],
  { self, orHasRow }: { self: number; orHasRow: boolean },
): Promise<number[]> {
  const { rows } = await sql.query<{ shard: number }>(
    `WITH former AS MATERIALIZED (
       SELECT worker.id, worker.tag FROM workers worker
       WHERE worker.id <> $2 AND worker.id IN (SELECT owner_id FROM shards WHERE shard = ANY ($1::smallint[]))
     ), present AS MATERIALIZED (
       SELECT worker.id FROM former worker WHERE $3::boolean OR EXISTS (
         SELECT FROM pg_stat_activity a
         WHERE a.usename = session_user AND a.datname = current_database() AND ${IS_OF_WORKER})
     )
     SELECT s.shard FROM shards s JOIN present ON present.id = s.owner_id WHERE s.shard = ANY ($1::smallint[])`,
    [shards, self, orHasRow],
  );
  return rows.map(({ shard }) => shard);
}
