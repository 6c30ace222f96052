import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:net';
import { describe, test } from 'node:test';
import { createParts } from '../support/parts.ts';
import { freePort, startProcess, waitFor } from '../support/process.ts';
import { seedInstance } from '../support/seed.ts';
import { useMessagingProcess } from './messaging-process.ts';

describe('the messaging server as a process', () => {
  const server = useMessagingProcess();

  test('it logs that it listens, and serves health, readiness and metrics', async () => {
    const { url, port, running } = await server.start();
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
    const { url, port, running } = await server.start({ SHUTDOWN_GRACE_SECONDS: '60' });
    const id = await seedInstance(server.parts().db, server.owner().companyId, {
      state: 'PAIRING',
      wanted: 'connected',
    });
    // A request that waits for its answer: no worker provides the code for a while.
    const waiting = fetch(`${url}/v1/instances/${id}/qr`, {
      headers: { 'x-api-key': server.owner().apiKey, accept: 'application/json' },
    });
    await server.looksForCode();
    const ended = running.kill('SIGTERM');
    await waitFor(() => running.output().includes('draining'));
    const answer = await waiting;
    assert.equal(answer.status, 503);
    assert.equal(answer.headers.get('connection'), 'close');
    assert.equal(await ended, 0);
    await assert.rejects(once(connect(port, '127.0.0.1'), 'connect'));
    assert.match(running.output(), /"msg":"closed"/);
  });

  test('SIGTERM: /ready reports it at once, and everything else continues until the delay is over', async () => {
    const { url, port, running } = await server.start({
      SHUTDOWN_DELAY_SECONDS: '8',
      SHUTDOWN_GRACE_SECONDS: '60',
    });
    const key = { 'x-api-key': server.owner().apiKey };
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
