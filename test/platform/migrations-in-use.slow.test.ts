/** Migrations of tables that are in use: they succeed, and delay nobody for long. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { migrate } from '@posthorn/core/migrations/migrate.ts';
import { ADVISORY_LOCKS } from '@posthorn/core/platform/database/advisory-locks.ts';
import pg from 'pg';
import { startPostgres } from '../support/postgres.ts';
import { waitFor } from '../support/process.ts';
import { seedCompany } from '../support/seed.ts';

/** Restores the state before the migration that changes the table `instances`. */
const TAKE_BACK = `
  DELETE FROM migrations WHERE name = '0005-moved-instances';
  ALTER TABLE instances DROP COLUMN placed, DROP COLUMN epoch_offset;`;

/** Rows on some hundred pages, and a vacuum that stops for 400 ms at each. */
const SLOW_VACUUM = `
  ALTER TABLE instances SET (autovacuum_vacuum_threshold = 1, autovacuum_vacuum_scale_factor = 0,
    autovacuum_vacuum_cost_delay = 100, autovacuum_vacuum_cost_limit = 1);
  UPDATE instances SET push_name = repeat('x', 500)`;

async function useDatabase(t: { after(close: () => Promise<unknown>): void }): Promise<{
  url: string;
  db: pg.Client;
}> {
  const postgres = await startPostgres({ fsync: false });
  const db = new pg.Client(postgres.url);
  t.after(async () => {
    await db.end();
    await postgres.stop();
  });
  await db.connect();
  await migrate(postgres.url);
  await db.query(TAKE_BACK);
  return { url: postgres.url, db };
}

test('a migration passes although autovacuum works on its table, which would take it minutes', async (t) => {
  const { url, db } = await useDatabase(t);
  await db.query(`ALTER SYSTEM SET autovacuum_naptime = '1s'`);
  await db.query('SELECT pg_reload_conf()');
  const { companyId } = await seedCompany(db);
  await db.query(
    `INSERT INTO instances (id, company_id, name, driver, shard, push_name)
     SELECT gen_random_uuid(), $1, 'instance ' || n, 'sandbox', 0, repeat('x', 500) FROM generate_series(1, 5000) n`,
    [companyId],
  );
  await db.query(SLOW_VACUUM);
  const vacuums = async () =>
    (
      await db.query<{ ended: number; running: number }>(
        `SELECT autovacuum_count::integer AS ended,
           (SELECT count(*)::integer FROM pg_stat_progress_vacuum WHERE relid = 'instances'::regclass) AS running
         FROM pg_stat_user_tables WHERE relname = 'instances'`,
      )
    ).rows[0];
  await waitFor(async () => (await vacuums())?.running === 1, 120_000, { what: 'autovacuum runs' });
  const sinceMs = performance.now();
  await migrate(url);
  console.log(`migrated in ${Math.round(performance.now() - sinceMs)} ms`);
  assert.equal((await vacuums())?.ended, 0, 'the vacuum was interrupted before its end');
  await db.query('SELECT placed, epoch_offset FROM instances LIMIT 1');
});

test('a migration waits behind a report, and writers continue meanwhile', async (t) => {
  const { url, db } = await useDatabase(t);
  const report = new pg.Client(url);
  await report.connect();
  const { companyId } = await seedCompany(db);
  const beganMs = performance.now();
  await report.query('BEGIN');
  await report.query('SELECT count(*) FROM instances');
  let isReported = false;
  let isMigrated = false;
  const migrated = migrate(url).then(() => {
    assert.ok(isReported, 'the report was left to its end');
    isMigrated = true;
  });
  let writes = 0;
  while (!isMigrated) {
    await db.query('BEGIN');
    // A write that waits for longer than this fails: one try of the migration ends sooner.
    await db.query(`SET LOCAL lock_timeout = '2s'`);
    await db.query(
      `INSERT INTO instances (id, company_id, name, driver, shard) VALUES (gen_random_uuid(), $1, $2, 'sandbox', 0)`,
      [companyId, `instance ${writes}`],
    );
    await db.query('COMMIT');
    writes += 1;
    // The report lasts for 4 s, and for longer on a machine that writes slowly.
    if (isReported || writes <= 20 || performance.now() - beganMs < 4_000) continue;
    isReported = true;
    await report.end();
  }
  await migrated;
});

test('a migration waits for its turn and works without a limit of time, whatever its user has by default', async (t) => {
  const { url, db } = await useDatabase(t);
  await db.query(`ALTER ROLE postgres SET statement_timeout = '1s'`);
  await db.query(`ALTER ROLE postgres SET lock_timeout = '1s'`);
  // As another migration does.
  await db.query('SELECT pg_advisory_lock($1)', [ADVISORY_LOCKS.migration]);
  const migrated = migrate(url);
  const hasWaited = waitFor(async () => {
    const { rows } = await db.query(
      `SELECT 1 FROM pg_stat_activity WHERE application_name = 'posthorn migrate' AND wait_event_type = 'Lock'
         AND clock_timestamp() - query_start > interval '2s'`,
    );
    return rows.length > 0;
  });
  await Promise.race([hasWaited, migrated]);
  await db.query('SELECT pg_advisory_unlock($1)', [ADVISORY_LOCKS.migration]);
  await migrated;
  await db.query('SELECT placed, epoch_offset FROM instances LIMIT 1');
});
