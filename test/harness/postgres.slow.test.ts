import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { chmodSync, existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';
import { createDb } from '@posthorn/core/platform/database/db.ts';
import { createLog } from '@posthorn/core/platform/process/log.ts';
import { createTestDatabase, type PostgresServer, startPostgres } from '../support/postgres.ts';
import { baseEnv, projectRoot, waitFor } from '../support/process.ts';

const log = createLog({ level: 'silent', role: 'test' });
const connect = (url: string) => createDb({ url, poolSize: 2, log, name: 'harness test' });

describe('a private PostgreSQL', () => {
  let server: PostgresServer;
  before(async () => {
    server = await startPostgres();
  });
  after(() => server.stop());

  it('keeps committed data when it is killed, and the pool reconnects', async () => {
    const db = connect(server.url);
    await db.query('CREATE TABLE kept (n int)');
    await db.query('INSERT INTO kept VALUES (1)');
    const pidBefore = server.pid();
    await server.kill();
    await assert.rejects(db.query('SELECT 1'));
    await server.restart();
    assert.notEqual(server.pid(), pidBefore);
    await waitFor(() => db.query('SELECT 1'));
    assert.deepEqual((await db.query('SELECT n FROM kept')).rows, [{ n: 1 }]);
    await db.close();
  });

  it('ends the statements that run when it is killed', async () => {
    const db = connect(server.url);
    await db.query('SELECT 1');
    const sleeping = assert.rejects(db.query('SELECT pg_sleep(60)'));
    await waitFor(() =>
      db
        .query("SELECT 1 FROM pg_stat_activity WHERE query = 'SELECT pg_sleep(60)' HAVING count(*) = 1")
        .then(({ rowCount }) => rowCount === 1),
    );
    await server.restart();
    await sleeping;
    await db.close();
  });

  it('answers nobody while it is paused', async () => {
    const db = connect(server.url);
    await db.query('SELECT 1');
    server.pause();
    const answer = db.query('SELECT 2 AS n').then(({ rows }) => rows);
    const first = await Promise.race([answer, new Promise((resolve) => setTimeout(resolve, 200, 'silence'))]);
    server.resume();
    assert.equal(first, 'silence');
    assert.deepEqual(await answer, [{ n: 2 }]);
    await db.close();
  });

  it('syncs to disk and takes 300 connections', async () => {
    const db = connect(server.url);
    const { rows } = await db.query(
      "SELECT current_setting('fsync') AS fsync, current_setting('max_connections') AS max",
    );
    assert.deepEqual(rows, [{ fsync: 'on', max: '300' }]);
    await db.close();
  });
});

describe('test databases', () => {
  it('are migrated, and no file sees the rows of another', async () => {
    const [one, two] = await Promise.all([createTestDatabase(), createTestDatabase()]);
    const [first, second] = [connect(one.url), connect(two.url)];
    const tables = "SELECT count(*) AS n FROM information_schema.tables WHERE table_schema = 'public'";
    const before = (await first.query<{ n: number }>(tables)).rows[0]?.n ?? 0;
    assert.ok(before > 1);
    await first.query('CREATE TABLE mine (n int)');
    assert.equal((await first.query<{ n: number }>(tables)).rows[0]?.n, before + 1);
    assert.equal((await second.query<{ n: number }>(tables)).rows[0]?.n, before);
    const third = await createTestDatabase();
    const later = connect(third.url);
    assert.equal((await later.query<{ n: number }>(tables)).rows[0]?.n, before);
    await Promise.all([first.close(), second.close(), later.close()]);
    await Promise.all([one.drop(), two.drop(), third.drop()]);
  });

  it('can be dropped while somebody is connected', async () => {
    const database = await createTestDatabase();
    const db = connect(database.url);
    await db.query('SELECT 1');
    await database.drop();
    await assert.rejects(connect(database.url).query('SELECT 1'), /does not exist/);
    await db.close();
  });
});

/** Starts a server in a process of its own, which then waits to be killed. */
async function startInChild(options: { tmp?: string; umask?: number } = {}) {
  const script = `
    process.umask(${options.umask ?? 0o022});
    const { startPostgres } = await import(${JSON.stringify(path.join(projectRoot, 'test/support/postgres.ts'))});
    const server = await startPostgres();
    console.log(JSON.stringify({ url: server.url, dir: server.dir }));
    setInterval(() => {}, 1000);`;
  const child = spawn(process.execPath, ['--input-type=module', '-e', script], {
    cwd: projectRoot,
    env: { ...baseEnv(), ...(options.tmp && { TMPDIR: options.tmp }) },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let output = '';
  child.stdout.on('data', (chunk) => {
    output += chunk;
  });
  await waitFor(() => output.includes('\n'), 90_000);
  return { child, ...(JSON.parse(output) as { url: string; dir: string }) };
}

describe('a test process that dies', () => {
  it('leaves neither its servers nor their folders behind', async () => {
    const { child, url, dir } = await startInChild();
    const db = connect(url);
    await db.query('SELECT 1');
    child.kill('SIGKILL');
    await waitFor(() => !existsSync(dir));
    await assert.rejects(db.query('SELECT 1'));
    await assert.rejects(db.query('SELECT 1'), /ECONNREFUSED/);
    await db.close();
  });

  it('may have had a strict umask and a folder for temporary files that only it can enter', async () => {
    const tmp = mkdtempSync(path.join(tmpdir(), 'posthorn-strict-'));
    chmodSync(tmp, 0o700);
    const { child, url, dir } = await startInChild({ tmp, umask: 0o077 });
    const db = connect(url);
    assert.equal((await db.query('SELECT 1')).rowCount, 1);
    await db.close();
    child.kill('SIGKILL');
    await waitFor(() => !existsSync(dir));
    rmSync(tmp, { recursive: true });
  });
});
