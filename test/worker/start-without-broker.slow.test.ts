import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import { ENTITLEMENT_UPDATES_QUEUE } from '@posthorn/core/billing/entitlements/entitlements.ts';
import { DEFAULT_SHARDS } from '@posthorn/core/instances/shard.ts';
import { Connection } from 'rabbitmq-client';
import { useSystem } from '../faults/use-system.ts';
import { freePort, startProcess, waitFor } from '../support/process.ts';
import { createTestVhost } from '../support/rabbitmq.ts';

test('a worker that starts while the broker is away owns shards, sends, and hands over at once', async (t) => {
  const amqpUrl = `amqp://guest:guest@127.0.0.1:${await freePort()}`;
  const system = await useSystem(t, { workers: 0, amqpUrl });
  const owners = async () =>
    (await system.db.query<{ owner: string | null }>('SELECT owner FROM shards')).rows.filter(
      ({ owner }) => owner !== null,
    ).length;
  const port = await freePort();
  const worker = await startProcess({
    entry: 'worker/main.ts',
    env: { ...system.env, WORKER_PORT: String(port) },
    ready: { url: `http://127.0.0.1:${port}/health` },
  });
  t.after(() => worker.kill());
  await waitFor(async () => (await owners()) === DEFAULT_SHARDS, 20_000, { what: 'it owns all shards' });

  const [server] = system.urls;
  let key: string | undefined;
  const call = async (method: string, route: string, body?: object) => {
    const answer = await fetch(`${server}${route}`, {
      method,
      headers: {
        'idempotency-key': randomUUID(),
        ...(key && { 'x-api-key': key }),
        ...(body && { 'content-type': 'application/json' }),
      },
      ...(body && { body: JSON.stringify(body) }),
    });
    assert.ok(answer.ok, `${method} ${route}: ${answer.status}`);
    return (await answer.json()) as Record<'api_key' | 'id' | 'state' | 'status' | 'message_id', string>;
  };
  ({ api_key: key } = await call('POST', '/v1/auth/quick-register', { email: 'away@example.com' }));
  const { id } = await call('POST', '/v1/instances', { name: 'first' });
  await call('POST', `/v1/instances/${id}/connect`, {});
  await waitFor(async () => (await call('GET', `/v1/instances/${id}`)).state === 'CONNECTED');
  const text = { to: '5511987654321', text: 'Hello!' };
  const { message_id } = await call('POST', `/v1/instances/${id}/messages/text`, text);
  await waitFor(
    async () => (await call('GET', `/v1/instances/${id}/message/${message_id}`)).status !== 'accepted',
    undefined,
    { what: 'it is sent' },
  );

  const { status } = await fetch(`http://127.0.0.1:${port}/ready`);
  assert.equal(status, 503, 'the broker is away');
  const startedMs = performance.now();
  assert.equal(await worker.kill('SIGTERM'), 0);
  assert.equal(await owners(), 0, 'the shards are handed over');
  t.diagnostic(`it ended after ${Math.round(performance.now() - startedMs)} ms`);
});

test('a worker whose queue the broker refuses is not ready and keeps its shards, until the queue is set right', async (t) => {
  const { url: amqpUrl } = await createTestVhost();
  const system = await useSystem(t, { workers: 0, amqpUrl });
  const connection = new Connection(amqpUrl);
  t.after(() => connection.close());
  // As definitions of another broker bring it.
  await connection.queueDeclare({ queue: ENTITLEMENT_UPDATES_QUEUE, durable: true });
  const port = await freePort();
  const worker = await startProcess({
    entry: 'worker/main.ts',
    env: { ...system.env, WORKER_PORT: String(port) },
    ready: { url: `http://127.0.0.1:${port}/health` },
  });
  t.after(() => worker.kill());
  const ready = async () => {
    const answer = await fetch(`http://127.0.0.1:${port}/ready`);
    const { checks } = (await answer.json()) as { checks: Record<string, string> };
    return { status: answer.status, checks };
  };
  await waitFor(() => worker.output().includes('the broker of AMQP_URL refuses a queue'), 30_000);
  assert.match(worker.output(), /PRECONDITION_FAILED/);
  const { status, checks } = await ready();
  assert.deepEqual([status, checks.roles, checks.heartbeat], [503, 'down', 'ok']);
  await connection.queueDelete({ queue: ENTITLEMENT_UPDATES_QUEUE });
  await waitFor(async () => (await ready()).status === 200, 30_000, { what: 'it is ready' });
  const { rows } = await system.db.query('SELECT FROM workers');
  assert.equal(rows.length, 1, 'it is still the same process');
});
