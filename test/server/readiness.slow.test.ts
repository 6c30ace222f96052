import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';
import { billingMigrations } from '@posthorn/core/migrations/billing/index.ts';
import { migrations } from '@posthorn/core/migrations/messaging/index.ts';
import { migrate } from '@posthorn/core/migrations/migrate.ts';
import {
  createSchemaCheck,
  migrationNames,
  requireSchema,
} from '@posthorn/core/migrations/require-schema.ts';
import { createDb, type Db } from '@posthorn/core/platform/database/db.ts';
import { createWriteProbe } from '@posthorn/core/platform/database/write-probe.ts';
import { atMostEvery } from '@posthorn/core/platform/process/at-most-every.ts';
import { createFolderProbe } from '@posthorn/core/platform/process/folder-probe.ts';
import { createLog } from '@posthorn/core/platform/process/log.ts';
import { createTestDatabase, type PostgresServer, startPostgres } from '../support/postgres.ts';
import { freePort, type RunningProcess, startProcess, waitFor } from '../support/process.ts';
import { type SeededCompany, seedCompany, seedInstance } from '../support/seed.ts';
import { makeSmallDisk, type SmallDisk } from '../support/small-disk.ts';

const log = createLog({ level: 'silent', role: 'test' });
const connect = (url: string, poolSize = 2) => createDb({ url, poolSize, log, name: 'test' });

/** Messaging on a database and a folder that can be filled, where this process may mount them. */
describe('the readiness of messaging', () => {
  let postgres: PostgresServer;
  let db: Db;
  let admin: Db;
  let databaseDisk: SmallDisk | null;
  let dataDisk: SmallDisk | null;
  let dataDir: string;
  let running: RunningProcess;
  let url: string;
  let owner: SeededCompany;
  let instanceId: string;

  before(async () => {
    databaseDisk = makeSmallDisk(96);
    dataDisk = makeSmallDisk(4);
    dataDir = dataDisk?.dir ?? mkdtempSync(path.join(tmpdir(), 'posthorn-ready-'));
    postgres = await startPostgres({ fsync: false });
    admin = connect(postgres.url);
    if (databaseDisk) await admin.query(`CREATE TABLESPACE small LOCATION '${databaseDisk.dir}'`);
    await admin.query(`CREATE DATABASE ready ${databaseDisk ? 'TABLESPACE small' : ''}`);
    const databaseUrl = postgres.urlOf('ready');
    await migrate(databaseUrl);
    db = connect(databaseUrl);
    owner = await seedCompany(db);
    instanceId = await seedInstance(db, owner.companyId);
    const port = await freePort();
    url = `http://127.0.0.1:${port}`;
    running = await startProcess({
      entry: 'server/messaging/main.ts',
      env: {
        NODE_ENV: 'test',
        LOG_LEVEL: 'fatal',
        DATABASE_URL: databaseUrl,
        DATA_DIR: dataDir,
        AMQP_URL: 'amqp://127.0.0.1:1',
        JWT_SECRET: 'a secret of the tests, long enough for HS256',
        ENCRYPTION_KEY: '5a'.repeat(32),
        PORT: String(port),
        // /ready is requested without a pause here.
        PUBLIC_RATE_PER_MINUTE: '1000000',
      },
      ready: { url: `${url}/ready` },
      timeoutMs: 90_000,
    });
  });
  after(async () => {
    await running.kill('SIGTERM');
    await db.close();
    await admin.close();
    await postgres.stop();
    for (const disk of [databaseDisk, dataDisk]) disk?.remove();
    if (!dataDisk) rmSync(dataDir, { recursive: true });
  });

  let sends = 0;
  async function send(): Promise<number> {
    sends += 1;
    const answer = await fetch(`${url}/v1/instances/${instanceId}/messages/text`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        'x-api-key': owner.apiKey,
        'idempotency-key': randomUUID(),
      },
      // Long, so that the pages with room are soon used up.
      body: JSON.stringify({
        to: `5531${String(900_000_000 + sends)}`,
        text: randomUUID().repeat(100),
      }),
    });
    await answer.body?.cancel();
    return answer.status;
  }

  async function readiness(): Promise<{ status: number; checks: Record<string, string> }> {
    const answer = await fetch(`${url}/ready`);
    const { checks } = (await answer.json()) as { checks: Record<string, string> };
    return { status: answer.status, checks };
  }

  /** Waits until /ready answers with that status and that outcome of one check. */
  const becomes = (status: number, check: string, outcome: string) =>
    waitFor(
      async () => {
        const found = await readiness();
        return found.status === status && found.checks[check] === outcome;
      },
      30_000,
      { what: `/ready is ${status} and ${check} ${outcome}` },
    );

  it('is there while sends are accepted, and asking often writes seldom', async () => {
    assert.equal(await send(), 202);
    for (let i = 0; i < 50; i += 1) assert.equal((await readiness()).status, 200);
    const { rows } = await db.query<{ n: number }>('SELECT count(*) AS n FROM write_probes');
    assert.ok(rows[0]!.n >= 1 && rows[0]!.n < 25, `${rows[0]!.n} writes`);
  });

  it('ends on a read-only database, such as a standby, and sends get Retry-After', async () => {
    const cut = () =>
      admin.query(
        `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = 'ready' AND pid <> pg_backend_pid()`,
      );
    await admin.query('ALTER DATABASE ready SET default_transaction_read_only = on');
    await cut();
    await becomes(503, 'database', 'takes no writes: read-only');
    assert.equal(await send(), 503);
    await admin.query('ALTER DATABASE ready RESET default_transaction_read_only');
    await cut();
    await becomes(200, 'database', 'ok');
    assert.equal(await send(), 202);
  });

  it('begins when a database of an older version is migrated, and a newer one is no fault', async (t) => {
    const older = await createTestDatabase();
    const sql = connect(older.url);
    t.after(async () => {
      await sql.close();
      await older.drop();
    });
    const check = createSchemaCheck(sql, 'messaging');
    const newest = migrationNames('messaging').at(-1)!;
    await sql.query('DELETE FROM migrations WHERE name = $1', [newest]);
    await assert.rejects(async () => check(), { name: 'NotReady', message: /run npm run migrate$/ });
    await sql.query(`INSERT INTO migrations (name) VALUES ($1), ('9999-of-a-newer-version')`, [newest]);
    await check();
    await requireSchema(sql, 'messaging');
    await requireSchema(sql, 'billing');
  });

  it('begins when a database that was restored into another cluster is migrated', async (t) => {
    const restored = await createTestDatabase();
    const sql = connect(restored.url);
    t.after(async () => {
      await sql.close();
      await restored.drop();
    });
    await sql.query('UPDATE event_clock SET system_identifier = system_identifier - 1');
    const check = createSchemaCheck(sql, 'messaging');
    const message = /restored into another cluster: run npm run migrate/;
    await assert.rejects(async () => check(), { name: 'NotReady', message });
    await assert.rejects(requireSchema(sql, 'messaging'), { name: 'StartError', message });
    await migrate(restored.url);
    await check();
    await requireSchema(sql, 'messaging');
  });

  it('knows the migrations by the names of their files', () => {
    const named = (list: readonly (new (...args: never[]) => { name?: string })[]) =>
      list.map((migration) => new migration(undefined as never, undefined as never).name);
    assert.deepEqual(migrationNames('messaging'), named(migrations));
    assert.deepEqual(migrationNames('billing'), named(billingMigrations));
  });

  it('ends when the data directory takes no files, and is back when it does', async () => {
    const spool = path.join(dataDir, 'media', '.spool');
    if (dataDisk) dataDisk.fill();
    else {
      // With a file in its place not even root can write into the folder.
      rmSync(spool, { recursive: true });
      writeFileSync(spool, '');
    }
    await becomes(503, 'media', dataDisk ? 'takes no files: the disk is full' : 'takes no files');
    if (dataDisk) dataDisk.free();
    else rmSync(spool);
    await becomes(200, 'media', 'ok');
  });

  it("ends while the database's disk is full, and is back with the first free page", async () => {
    if (!databaseDisk) return assert.notEqual(process.getuid?.(), 0, 'root fills a disk of its own here');
    databaseDisk.fill();
    // Sends until the last page with room is used up; on a new connection each time, so that no other one is used.
    await waitFor(async () => (await send()) === 503, 60_000, { everyMs: 1 });
    await becomes(503, 'database', 'takes no writes: the disk is full');
    databaseDisk.free();
    await becomes(200, 'database', 'ok');
    assert.equal(await send(), 202);
  });
});

describe('the write probe', () => {
  it('asks the disk for a new page each time, and gives them back when a megabyte is reached', async (t) => {
    const database = await createTestDatabase();
    const db = connect(database.url);
    t.after(async () => {
      await db.close();
      await database.drop();
    });
    const pages = async () =>
      (await db.query<{ n: number }>(`SELECT pg_relation_size('write_probes') / 8192 AS n`)).rows[0]!.n;
    for (let nth = 1; nth <= 20; nth += 1) {
      await createWriteProbe({ db })();
      assert.equal(await pages(), nth);
    }
    await db.query(
      `INSERT INTO write_probes (padding) SELECT convert_to(repeat('x', 5000), 'UTF8') FROM generate_series(1, 120)`,
    );

    // A dump reads the table for hours, and nobody may wait for it.
    const reader = await db.pool.connect();
    await reader.query('BEGIN; LOCK TABLE write_probes IN ACCESS SHARE MODE');
    await createWriteProbe({ db })();
    assert.equal(await pages(), 141);
    await reader.query('ROLLBACK');
    reader.release();
    await createWriteProbe({ db })();
    assert.equal(await pages(), 1);
  });

  it('runs once for simultaneous requests, and again when its outcome is old', async (t) => {
    let runs = 0;
    let nowMs = 0;
    t.mock.method(performance, 'now', () => nowMs);
    const check = atMostEvery(5_000, async () => {
      runs += 1;
      if (runs === 2) throw new Error('the second time it fails');
    });
    await Promise.all([check(), check(), check()]);
    assert.equal(runs, 1);
    nowMs += 5_000;
    await check();
    assert.equal(runs, 2, 'a new run has begun, and nobody waits for it');
    await assert.rejects(check);
    await assert.rejects(check, 'a failure holds as long as a success');
    assert.equal(runs, 2);
  });
});

describe('the probe of a folder', () => {
  it('makes the folder, leaves nothing in it, and reports when it takes no files', async (t) => {
    const parent = mkdtempSync(path.join(tmpdir(), 'posthorn-folder-'));
    t.after(() => rmSync(parent, { recursive: true }));
    const folder = path.join(parent, 'mail');
    await createFolderProbe(folder)();
    assert.deepEqual(readdirSync(folder), []);
    rmSync(folder, { recursive: true });
    writeFileSync(folder, '');
    await assert.rejects(createFolderProbe(folder), { name: 'NotReady', message: 'takes no files' });
  });
});
