import { countShards, homeOf, SHARDS_MAX } from '../instances/shard.ts';
import type { Db, Sql } from '../platform/database/db.ts';
import { oneRow } from '../platform/database/one-row.ts';
import { StartError } from '../platform/run-main.ts';
import { LOOK_AGAIN } from '../workers/members.ts';

/**
 * Makes more shards while everything runs: their owners take them, and each owner of an instance that belongs to another
 * one now moves it there. Throws {@link StartError}. Again with the same number changes nothing.
 */
export async function raiseShards(db: Db, to: number): Promise<void> {
  if (!Number.isInteger(to) || to < 1 || to > SHARDS_MAX)
    throw new StartError(`the number of shards is 1 to ${SHARDS_MAX}`);
  await db.transaction(async (sql) => {
    // Two at once, or a worker of the release before that enters: one waits for the other.
    await sql.query('LOCK TABLE workers IN SHARE MODE');
    const from = await countShards(sql);
    if (to < from) throw new StartError(`there are ${from} shards, and their number can only be raised`);
    await refuseLimitedWorkers(sql);
    await sql.query(
      'INSERT INTO shards (shard) SELECT generate_series($1::integer, $2::integer) ON CONFLICT DO NOTHING',
      [from, to - 1],
    );
  });
  await askToLook(db);
}

/** A worker of the release before takes the first 32 shards only, and does not move instances. */
export async function refuseLimitedWorkers(sql: Sql): Promise<void> {
  const { rows } = await sql.query<{ name: string }>('SELECT name FROM workers WHERE NOT any_shard');
  if (rows.length > 0)
    throw new StartError(
      `update all workers first: ${rows.map(({ name }) => name).join(', ')} runs the release before`,
    );
}

/** Owners look by themselves within seconds; this makes it sooner. */
export async function askToLook(sql: Sql): Promise<void> {
  await sql.query(`SELECT pg_notify('workers', $1)`, [LOOK_AGAIN]);
}

export interface ShardsNow {
  shards: number;
  /** Those with a live owner. */
  owned: number;
  workers: number;
  /** Instances that still have to move. */
  toMove: number;
}

const PAGE = 10_000;

export async function lookAtShards(db: Db): Promise<ShardsNow> {
  const { rows } = await db.query<Omit<ShardsNow, 'toMove'>>(
    `SELECT (SELECT count(*)::integer FROM shards) AS shards, (SELECT count(*)::integer FROM workers) AS workers,
       (SELECT count(*)::integer FROM shards JOIN workers ON workers.id = shards.owner_id) AS owned`,
  );
  const now = oneRow(rows);
  let toMove = 0;
  for (let after: string | null = null; ; ) {
    const page: { rows: { id: string; shard: number; placed: number | null }[] } = await db.query(
      `SELECT id, shard, placed FROM instances WHERE $1::uuid IS NULL OR id > $1 ORDER BY id LIMIT ${PAGE}`,
      [after],
    );
    toMove += page.rows.filter((row) => homeOf(row, now.shards) !== row.shard).length;
    after = page.rows.at(-1)?.id ?? null;
    if (page.rows.length < PAGE) return { ...now, toMove };
  }
}
