import { DAY_MS } from '../durations.ts';
import type { Db, Sql } from './db.ts';
import { oneRow } from './one-row.ts';

/** A log that is partitioned by the day of its `created_at`, in UTC, with a default partition `<name>_other`. */
export interface DayPartitionedTable {
  name: 'events' | 'webhook_delivery_logs';
  retentionDays: number;
}

/**
 * Dropping a partition locks its parent: better to try again in the next round than to let everyone queue behind it, which an export
 * of an hour would do to all events each time.
 */
const LOCK_TIMEOUT = '200ms';

/**
 * Makes the partitions from yesterday to `aheadDays` days on. Rows that fell into the default partition,
 * because nobody had made theirs in time, are moved first: PostgreSQL refuses a partition otherwise.
 */
export async function ensurePartitions(
  db: Db,
  table: DayPartitionedTable,
  options: { now: Date; aheadDays: number },
): Promise<void> {
  const present = new Set((await listPartitions(db, table)).map((partition) => partition.name));
  for (let offset = -1; offset <= options.aheadDays; offset += 1) {
    const from = new Date(Math.floor(options.now.getTime() / DAY_MS) * DAY_MS + offset * DAY_MS);
    const name = `${table.name}_${from.toISOString().slice(0, 10).replaceAll('-', '')}`;
    if (!present.has(name)) await createPartition(db, table, { name, from });
  }
}

async function createPartition(
  db: Db,
  table: DayPartitionedTable,
  day: { name: string; from: Date },
): Promise<void> {
  const from = day.from.toISOString();
  const to = new Date(day.from.getTime() + DAY_MS).toISOString();
  await db.transaction(async (sql) => {
    await sql.query(`SET LOCAL lock_timeout = '${LOCK_TIMEOUT}'`);
    await sql.query(`CREATE TABLE ${day.name} (LIKE ${table.name} INCLUDING DEFAULTS INCLUDING CONSTRAINTS)`);
    await sql.query(
      `WITH moved AS (
         DELETE FROM ${table.name}_other WHERE created_at >= $1 AND created_at < $2 RETURNING *)
       INSERT INTO ${day.name} SELECT * FROM moved`,
      [from, to],
    );
    await sql.query(
      `ALTER TABLE ${table.name} ATTACH PARTITION ${day.name} FOR VALUES FROM ('${from}') TO ('${to}')`,
    );
  });
}

/** Drops the partitions whose whole day is past the retention, and such rows of the default partition. */
export async function dropOldPartitions(
  db: Db,
  table: DayPartitionedTable,
  options: { now: Date },
): Promise<string[]> {
  const before = new Date(options.now.getTime() - table.retentionDays * DAY_MS);
  const dropped: string[] = [];
  for (const partition of await listPartitions(db, table)) {
    if (partition.day.getTime() + DAY_MS > before.getTime()) continue;
    await db.transaction(async (sql) => {
      await sql.query(`SET LOCAL lock_timeout = '${LOCK_TIMEOUT}'`);
      await sql.query(`DROP TABLE ${partition.name}`);
    });
    dropped.push(partition.name);
  }
  await deleteInBatches(db, { table: `${table.name}_other`, column: 'created_at', before });
  return dropped;
}

/** Rows of a table looked at by one statement of {@link deleteInBatches}, in blocks of 8 kB. */
const BATCH_BLOCKS = 2_000;

/**
 * Deletes the rows whose `column` lies before a time, in one walk over the table by ranges of blocks:
 * short transactions, no index needed, and no part of the table is read twice. Returns how many went.
 */
export async function deleteInBatches(
  db: Db,
  options: { table: string; column: string; before: Date; signal?: AbortSignal },
): Promise<number> {
  const { table, column, before } = options;
  const { rows } = await db.query<{ blocks: number }>(
    `SELECT pg_relation_size($1::regclass) / current_setting('block_size')::int AS blocks`,
    [table],
  );
  let deleted = 0;
  for (let block = 0; block < oneRow(rows).blocks; block += BATCH_BLOCKS) {
    options.signal?.throwIfAborted();
    const { rowCount } = await db.query(
      `DELETE FROM ${table} WHERE ctid >= $1::tid AND ctid < $2::tid AND ${column} < $3`,
      [`(${block},0)`, `(${block + BATCH_BLOCKS},0)`, before],
    );
    deleted += rowCount ?? 0;
  }
  return deleted;
}

async function listPartitions(sql: Sql, table: DayPartitionedTable): Promise<{ name: string; day: Date }[]> {
  const { rows } = await sql.query<{ name: string }>(
    'SELECT inhrelid::regclass::text AS name FROM pg_inherits WHERE inhparent = $1::regclass',
    [table.name],
  );
  return rows.flatMap(({ name }) => {
    const day = /_(\d{4})(\d{2})(\d{2})$/.exec(name);
    return day ? [{ name, day: new Date(`${day[1]}-${day[2]}-${day[3]}T00:00:00Z`) }] : [];
  });
}
