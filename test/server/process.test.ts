import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { connect } from 'node:net';
import { after, before, describe, test } from 'node:test';
import { tellFigure } from '../support/figures.ts';
import { createParts, type Parts } from '../support/parts.ts';
import {
  baseEnv,
  freePort,
  projectRoot,
  type RunningProcess,
  startProcess,
  waitFor,
} from '../support/process.ts';
import { type SeededCompany, seedCompany, seedInstance } from '../support/seed.ts';

const ENTRY = 'server/messaging/main.ts';

describe('the messaging server as a process', () => {
  let parts: Parts;
  let owner: SeededCompany;
  before(async () => {
    parts = await createParts();
    owner = await seedCompany(parts.db);
  });
  after(() => parts.close());

  const envOf = (port: number, more: Record<string, string> = {}): Record<string, string> => ({
    NODE_ENV: 'test',
    DATABASE_URL: parts.url,
    AMQP_URL: 'amqp://127.0.0.1:1',
    JWT_SECRET: 'a secret of the tests, long enough for HS256',
    ENCRYPTION_KEY: '5a'.repeat(32),
    PORT: String(port),
    SHUTDOWN_GRACE_SECONDS: '5',
    PUBLIC_RATE_PER_MINUTE: '1000000',
    ...more,
  });
  async function start(
    more: Record<string, string> = {},
  ): Promise<{ url: string; port: number; running: RunningProcess }> {
    const port = await freePort();
    const url = `http://127.0.0.1:${port}`;
    const running = await startProcess({
      entry: ENTRY,
      env: envOf(port, more),
      ready: { url: `${url}/ready` },
    });
    return { url, port, running };
  }

  /** Waits until a request for a code is under way. */
  const looksForCode = () =>
    waitFor(
      async () => {
        const looked = await parts.db.query(
          `SELECT 1 FROM pg_stat_activity WHERE datname = current_database()
             AND query LIKE '%instance_pairings%' AND query NOT LIKE '%pg_stat_activity%'`,
        );
        return looked.rows.length > 0;
      },
      undefined,
      { what: 'the server looks for a code' },
    );

  test('a bad setting stops the start with one line that names it', async () => {
    for (const [more, line] of [
      [{ PORT: 'eighty' }, /^.*PORT.*$/],
      [{ ENCRYPTION_KEY: 'short' }, /^.*ENCRYPTION_KEY: .*$/],
      [{ DATABASE_URL: '' }, /^.*DATABASE_URL is required$/],
      // With the host taken for a scheme, the origin of the console would be `null`, which any page can have.
      [{ FRONTEND_URL: 'app.example.com:3000' }, /^.*FRONTEND_URL: must be a URL with http.*$/],
      // A timer of more than 24 days fires at once.
      [{ HTTP_TIMEOUT: '3000000' }, /^.*HTTP_TIMEOUT: .*86400.*$/],
      [{ REFRESH_TTL_DAYS: '1000000000' }, /^.*REFRESH_TTL_DAYS: .*36500.*$/],
      [{ PASSWORD_RESET_TTL: '1000000000000' }, /^.*PASSWORD_RESET_TTL: .*525600.*$/],
      [{ PUBLIC_URL: 'localhost:8080' }, /^.*PUBLIC_URL: must be a URL with http.*$/],
      [
        { DATABASE_URL: `postgres://x:x@127.0.0.1:${await freePort()}/x` },
        /^.*database cannot be reached.*$/,
      ],
    ] as const) {
      const child = spawn(process.execPath, [ENTRY], {
        cwd: projectRoot,
        env: { ...baseEnv(), ...envOf(await freePort(), more), LOG_LEVEL: 'silent' },
        stdio: ['ignore', 'pipe', 'pipe'],
      });
      let output = '';
      for (const stream of [child.stdout, child.stderr])
        stream.on('data', (chunk) => {
          output += chunk;
        });
      const [code] = await once(child, 'close');
      assert.equal(code, 1);
      assert.match(output.trim(), line);
      assert.equal(output.trim().split('\n').length, 1, output);
    }
  });

  test('it logs that it listens, and serves health, readiness and metrics', async () => {
    const { url, port, running } = await start();
    assert.match(running.output(), new RegExp(`"port":${port}.*"msg":"listening"`));
    assert.deepEqual(await (await fetch(`${url}/health`)).json(), { status: 'ok', service: 'messaging' });
    assert.deepEqual(await (await fetch(`${url}/ready`)).json(), {
      status: 'ready',
      service: 'messaging',
      checks: { database: 'ok', notifications: 'ok', clock: 'ok', media: 'ok' },
    });
    const metrics = await fetch(`${url}/metrics`);
    assert.match(metrics.headers.get('content-type') ?? '', /^text\/plain/);
    const text = await metrics.text();
    assert.match(text, /http_request_duration_seconds_count\{route="health\.ready",status="200"\} \d/);
    assert.match(text, /process_cpu_seconds_total/);
    assert.equal(await running.kill('SIGTERM'), 0);
  });

  test('SIGTERM: requests under way are answered, connections are closed, and it exits with 0', async () => {
    const { url, port, running } = await start({ SHUTDOWN_GRACE_SECONDS: '60' });
    const id = await seedInstance(parts.db, owner.companyId, { state: 'PAIRING', wanted: 'connected' });
    // A request that waits for its answer: no worker provides the code for a while.
    const waiting = fetch(`${url}/v1/instances/${id}/qr`, {
      headers: { 'x-api-key': owner.apiKey, accept: 'application/json' },
    });
    await looksForCode();
    const ended = running.kill('SIGTERM');
    await waitFor(() => running.output().includes('draining'));
    const answer = await waiting;
    assert.equal(answer.status, 503);
    assert.equal(answer.headers.get('connection'), 'close');
    assert.equal(await ended, 0);
    await assert.rejects(once(connect(port, '127.0.0.1'), 'connect'));
    assert.match(running.output(), /"msg":"closed"/);
  });

  test('an event stream ends with the server, and does not delay it', async () => {
    // If this delayed its end, it would exit with 1 after the grace period.
    const { url, running } = await start({ SHUTDOWN_GRACE_SECONDS: '60' });
    const stream = await fetch(`${url}/v1/events/stream`, { headers: { 'x-api-key': owner.apiKey } });
    assert.equal(stream.status, 200);
    const text = stream.text();
    const begun = performance.now();
    assert.equal(await running.kill('SIGTERM'), 0);
    tellFigure('the end of a server with an event stream', performance.now() - begun, { atMost: 3_000 });
    assert.match(await text, /event: ?end/);
  });

  test('SIGTERM: /ready reports it at once, and everything else continues until the delay is over', async () => {
    const { url, port, running } = await start({ SHUTDOWN_DELAY_SECONDS: '8', SHUTDOWN_GRACE_SECONDS: '60' });
    const key = { 'x-api-key': owner.apiKey };
    const stream = await fetch(`${url}/v1/events/stream`, { headers: key });
    let streamed = '';
    const streaming = (async () => {
      for await (const chunk of stream.body!) streamed += Buffer.from(chunk).toString();
    })();
    const begun = performance.now();
    const ended = running.kill('SIGTERM');
    await waitFor(() => running.output().includes('draining'));
    const ready = await fetch(`${url}/ready`);
    const { checks } = (await ready.json()) as { checks: Record<string, string> };
    assert.deepEqual([ready.status, checks.process], [503, 'draining']);
    assert.equal(ready.headers.get('connection'), 'close');
    do {
      // A new connection, like one that a balancer has not opened yet.
      const answer = await fetch(`${url}/v1/instances`, { headers: { ...key, connection: 'close' } });
      assert.equal(answer.status, 200);
      assert.equal(answer.headers.get('connection'), 'close');
      await answer.body?.cancel();
    } while (performance.now() - begun < 2_500);
    assert.doesNotMatch(streamed, /event: ?end/, 'a stream is not ended while it would come back here');
    assert.equal(await ended, 0);
    assert.ok(performance.now() - begun >= 8_000);
    await streaming;
    assert.match(streamed, /event: ?end/);
    await assert.rejects(once(connect(port, '127.0.0.1'), 'connect'));
  });

  test('a connection that was opened ahead and never used does not delay the end', async () => {
    const { port, running } = await start({ SHUTDOWN_GRACE_SECONDS: '30' });
    const silent = connect(port, '127.0.0.1');
    await once(silent, 'connect');
    const closed = once(silent, 'close');
    const begun = performance.now();
    assert.equal(await running.kill('SIGTERM'), 0);
    assert.ok(performance.now() - begun < 20_000);
    await closed;
  });

  test('a second signal exits at once with 1', async () => {
    const { url, running } = await start({ SHUTDOWN_GRACE_SECONDS: '60' });
    const id = await seedInstance(parts.db, owner.companyId, { state: 'PAIRING', wanted: 'connected' });
    const waiting = fetch(`${url}/v1/instances/${id}/qr`, { headers: { 'x-api-key': owner.apiKey } }).catch(
      () => null,
    );
    await looksForCode();
    const ended = running.kill('SIGTERM');
    await waitFor(() => running.output().includes('draining'));
    running.signal('SIGINT');
    assert.equal(await ended, 1);
    assert.equal(await waiting, null);
  });
});

describe('the billing server as a process', () => {
  test('SIGTERM: requests are served until the delay is over, and /ready, which is always 200, reports it', async (t) => {
    const parts = await createParts();
    t.after(() => parts.close());
    const port = await freePort();
    const url = `http://127.0.0.1:${port}`;
    const running = await startProcess({
      entry: 'server/billing/main.ts',
      env: {
        NODE_ENV: 'test',
        DATABASE_URL: parts.url,
        AMQP_URL: 'amqp://127.0.0.1:1',
        JWT_SECRET: 'a secret of the tests, long enough for HS256',
        ENCRYPTION_KEY: '5a'.repeat(32),
        BILLING_PORT: String(port),
        SHUTDOWN_DELAY_SECONDS: '6',
        PUBLIC_RATE_PER_MINUTE: '1000000',
      },
      ready: { url: `${url}/ready` },
    });
    const begun = performance.now();
    const ended = running.kill('SIGTERM');
    await waitFor(() => running.output().includes('draining'));
    while (performance.now() - begun < 1_500) {
      const ready = await fetch(`${url}/ready`);
      assert.equal(ready.status, 200);
      assert.equal(ready.headers.get('connection'), 'close');
      assert.deepEqual(await ready.json(), { status: 'draining', service: 'billing', checks: {} });
      const plans = await fetch(`${url}/v1/billing/plans`);
      assert.equal(plans.status, 200);
      await plans.body?.cancel();
    }
    assert.equal(await ended, 0);
    assert.ok(performance.now() - begun >= 6_000);
  });
});

describe('the messaging server without its database', () => {
  test('answers 503 with Retry-After, names the fault in /ready, and recovers by itself', async () => {
    const { startPostgres } = await import('../support/postgres.ts');
    const { migrate } = await import('@posthorn/core/migrations/migrate.ts');
    const { createDb } = await import('@posthorn/core/platform/database/db.ts');
    const { createLog } = await import('@posthorn/core/platform/process/log.ts');
    const postgres = await startPostgres();
    await migrate(postgres.url);
    const log = createLog({ level: 'silent', role: 'test' });
    const db = createDb({ url: postgres.url, poolSize: 2, log, name: 'test' });
    const owner = await seedCompany(db);
    const port = await freePort();
    const url = `http://127.0.0.1:${port}`;
    const running = await startProcess({
      entry: ENTRY,
      env: {
        NODE_ENV: 'test',
        LOG_LEVEL: 'warn',
        DATABASE_URL: postgres.url,
        AMQP_URL: 'amqp://127.0.0.1:1',
        JWT_SECRET: 'a secret of the tests, long enough for HS256',
        ENCRYPTION_KEY: '5a'.repeat(32),
        PORT: String(port),
      },
      ready: { url: `${url}/ready` },
    });
    const list = () => fetch(`${url}/v1/instances`, { headers: { 'x-api-key': owner.apiKey } });
    try {
      assert.equal((await list()).status, 200);
      await postgres.kill();
      const ready = await fetch(`${url}/ready`);
      assert.equal(ready.status, 503);
      const { status, checks } = (await ready.json()) as { status: string; checks: Record<string, string> };
      assert.equal(status, 'unavailable');
      assert.notEqual(checks.database, 'ok');
      for (let i = 0; i < 5; i += 1) {
        const answer = await list();
        const body = (await answer.json()) as Record<string, string>;
        assert.deepEqual([answer.status, body.error_code], [503, 'SERVICE_UNAVAILABLE']);
        assert.ok(Number(answer.headers.get('retry-after')) >= 1);
        assert.equal(body.trace_id, answer.headers.get('x-trace-id'));
        assert.equal(JSON.stringify(body).includes('127.0.0.1'), false, 'no internals in the answer');
      }
      assert.equal((await fetch(`${url}/health`)).status, 200);
      await postgres.restart();
      await waitFor(async () => (await list()).status === 200);
      await waitFor(async () => (await fetch(`${url}/ready`)).status === 200);
      assert.equal(running.output().includes(owner.apiKey), false, 'no key in the log');
    } finally {
      await running.kill();
      await db.close();
      await postgres.stop();
    }
  });
});
