import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';
import { promisify } from 'node:util';
import { createDb, type Db } from '@posthorn/core/platform/database/db.ts';
import { createReportReads, type ReportReads } from '@posthorn/core/platform/database/report-reads.ts';
import { createLog, type Log } from '@posthorn/core/platform/process/log.ts';
import { checkStandby } from '../../admin/checks/database.ts';
import { testConfig } from '../support/config.ts';
import { cloneTemplate, type PostgresServer, startPostgres, startTestPostgres } from '../support/postgres.ts';
import { baseEnv, freePort, projectRoot, startProcess } from '../support/process.ts';
import { type SeededCompany, seedCompany } from '../support/seed.ts';

const IS_STANDBY = 'SELECT pg_is_in_recovery() AS standby';

describe('reports from a standby', () => {
  let primary: PostgresServer;
  let standby: PostgresServer;
  let urls: { primary: string; standby: string };
  let db: Db;
  let onStandby: Db;
  let company: SeededCompany;
  const told: string[] = [];
  const silent = createLog({ level: 'silent', role: 'test' });
  const log = { ...silent, warn: (_: unknown, text: string) => void told.push(text) } as Log;
  const open = (url: string) => createDb({ url, poolSize: 2, log: silent, name: 'reports test' });
  /** With long timeouts for a busy machine, where nothing is broken. */
  const reading = (more: { standby?: Db; catchUpMs?: number } = {}) =>
    createReportReads({ db, standby: onStandby, log, catchUpMs: 20_000, ...more });
  const answeredByStandby = async (reports: ReportReads) => {
    const { rows } = await reports.query<{ standby: boolean }>(IS_STANDBY);
    return rows[0]!.standby;
  };

  before(async () => {
    primary = await startTestPostgres({ fsync: false });
    const { url } = await cloneTemplate(primary.url);
    await primary.kill();
    standby = await startPostgres({ standbyOf: primary, fsync: false });
    await primary.restart();
    urls = { primary: url, standby: standby.urlOf(new URL(url).pathname.slice(1)) };
    db = open(urls.primary);
    onStandby = open(urls.standby);
    company = await seedCompany(db);
    await db.query('CREATE TABLE notes_of_test (n int)');
  });
  after(async () => {
    await Promise.all([db.close(), onStandby.close()]);
    await Promise.all([primary.stop(), standby.stop()]);
  });

  it('finds each row that was committed before it asked, on the standby', async () => {
    const reports = reading();
    for (let n = 1; n <= 30; n += 1) {
      await db.query('INSERT INTO notes_of_test VALUES ($1)', [n]);
      const { rows } = await reports.query(
        'SELECT max(n) AS n, pg_is_in_recovery() AS standby FROM notes_of_test',
      );
      assert.deepEqual(rows, [{ n, standby: true }]);
    }
    assert.deepEqual(told, []);
  });

  it('asks the primary while the standby is behind, and waits for it once', async () => {
    const reports = reading({ catchUpMs: 200 });
    await onStandby.query('SELECT pg_wal_replay_pause()');
    await db.query('INSERT INTO notes_of_test VALUES (100)');
    const { rows } = await reports.query('SELECT max(n) AS n FROM notes_of_test');
    assert.deepEqual(rows, [{ n: 100 }]);
    assert.deepEqual(told.splice(0), ['reports are read from the primary']);

    await onStandby.query('SELECT pg_wal_replay_resume()');
    assert.equal(await answeredByStandby(reports), false, 'it is left alone for a while');
    assert.equal(await answeredByStandby(reading()), true);
  });

  it('asks the primary when the standby does not answer, and when there is none at its address', async () => {
    standby.pause();
    try {
      const sinceMs = performance.now();
      assert.equal(await answeredByStandby(reading({ catchUpMs: 200 })), false);
      assert.ok(performance.now() - sinceMs < 5_000, 'a frozen standby does not hold a report up');
    } finally {
      standby.resume();
    }
    const other = open(urls.primary);
    assert.equal(await answeredByStandby(reading({ standby: other })), false);
    await other.close();
    assert.equal(told.splice(0).length, 2);
  });

  it('reports a wrong statement to the caller, and does not ask the primary as well', async () => {
    const reports = reading();
    await assert.rejects(reports.query('SELECT 1 / 0'), { code: '22012' });
    assert.deepEqual(told, []);
  });

  it('answers the reports of the API and the export of a company', async (t) => {
    const port = await freePort();
    const url = `http://127.0.0.1:${port}`;
    const folder = mkdtempSync(path.join(tmpdir(), 'posthorn-reports-'));
    const env = {
      NODE_ENV: 'test',
      DATABASE_URL: urls.primary,
      DATABASE_READ_URL: urls.standby,
      AMQP_URL: 'amqp://127.0.0.1:1',
      DATA_DIR: path.join(folder, 'data'),
      JWT_SECRET: 'a secret of the tests, long enough for HS256',
      ENCRYPTION_KEY: '5a'.repeat(32),
      PORT: String(port),
    };
    const running = await startProcess({
      entry: 'server/messaging/main.ts',
      env,
      ready: { url: `${url}/ready` },
    });
    t.after(async () => {
      await running.kill();
      rmSync(folder, { recursive: true });
    });
    const reports = ['usage', 'webhooks/metrics', 'webhooks/events'];
    for (const report of reports) {
      const answer = await fetch(`${url}/v1/${report}`, { headers: { 'x-api-key': company.apiKey } });
      assert.equal(answer.status, 200, `${report}: ${await answer.text()}`);
    }
    const { rows } = await onStandby.query(
      "SELECT DISTINCT application_name FROM pg_stat_activity WHERE application_name LIKE 'messaging%'",
    );
    assert.deepEqual(rows, [{ application_name: 'messaging reports' }]);

    const into = path.join(folder, 'export');
    const admin = (...args: string[]) =>
      promisify(execFile)(process.execPath, ['admin/main.ts', ...args], {
        cwd: projectRoot,
        env: { ...baseEnv(), ...env },
      });
    await admin('export', String(company.companyId), into);
    assert.match(readFileSync(path.join(into, 'manifest.json'), 'utf8'), /companies/);
    const { says } = await checkStandby({
      hasBroker: true,
      config: testConfig(env),
      db,
      log: silent,
      tell: assert.fail,
    });
    assert.match(says, /^\d+ bytes behind$/);
  });
});
