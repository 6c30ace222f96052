import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { after, before, describe, it } from 'node:test';
import { promisify } from 'node:util';
import { type OtlpCollector, startOtlpCollector } from '@posthorn/test/support/otlp-collector.ts';
import { createTestDatabase } from '@posthorn/test/support/postgres.ts';
import { baseEnv, projectRoot, waitFor } from '@posthorn/test/support/process.ts';
import { createTestVhost } from '@posthorn/test/support/rabbitmq.ts';
import { type System, startSystem } from '@posthorn/test/support/system.ts';
import { Webhook } from 'standardwebhooks';
import { figuresAskedFor } from '../deploy/figures.ts';
import { listen } from '../support/listen.ts';

const run = promisify(execFile);

/** Runs one of our programs to its end. */
function runMain(entry: string, env: Record<string, string>) {
  return run(process.execPath, [entry], { cwd: projectRoot, env: { ...baseEnv(), ...env } });
}

interface Delivered {
  headers: Record<string, string>;
  body: string;
}

describe('Posthorn as separate processes on PostgreSQL and RabbitMQ', () => {
  let system: System;
  let dropDatabase: () => Promise<void>;
  let collector: OtlpCollector;
  let key: string;
  let instanceId: string;
  const deliveries: Delivered[] = [];
  const receiver = createServer(async (request, response) => {
    deliveries.push({ headers: request.headers as Record<string, string>, body: await text(request) });
    response.writeHead(204).end();
  });

  before(async () => {
    const database = await createTestDatabase();
    dropDatabase = database.drop;
    const { url: amqpUrl } = await createTestVhost();
    collector = await startOtlpCollector();
    system = await startSystem({
      databaseUrl: database.url,
      amqpUrl,
      messaging: 2,
      workers: 2,
      env: { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url, OTEL_EXPORTER_OTLP_HEADERS: 'x-tenant=operators' },
    });
    await listen(receiver);
  });
  after(async () => {
    await system.stop();
    receiver.closeAllConnections();
    receiver.close();
    collector.close();
    await dropDatabase();
  });

  /** One request to the first or second API server. */
  async function call(server: 0 | 1, method: string, route: string, body?: object) {
    const answer = await fetch(`${system.urls[server]}${route}`, {
      method,
      headers: {
        ...(key ? { 'x-api-key': key } : {}),
        ...(body ? { 'content-type': 'application/json' } : {}),
        ...(route.includes('/messages/') ? { 'idempotency-key': randomUUID() } : {}),
      },
      ...(body ? { body: JSON.stringify(body) } : {}),
    });
    const answered = await answer.text();
    assert.ok(answer.ok, `${method} ${route}: ${answer.status} ${answered}`);
    return answered === '' ? {} : JSON.parse(answered);
  }

  const sendText = (server: 0 | 1, message: string) =>
    call(server, 'POST', `/v1/instances/${instanceId}/messages/text`, { to: '5511987654321', text: message });

  const typesOf = (messageId: string) =>
    deliveries
      .map(({ body }) => JSON.parse(body))
      .filter(({ data }) => data.message_ids?.includes(messageId))
      .map(({ type }) => type);

  it('brings an empty database to the newest schema, and again without harm', async () => {
    const name = `empty_${randomUUID().replaceAll('-', '')}`;
    const url = new URL(system.env.DATABASE_URL!);
    await system.db.query(`CREATE DATABASE ${name} TEMPLATE template0`);
    url.pathname = `/${name}`;
    for (let time = 1; time <= 2; time += 1) {
      const { stdout } = await runMain('core/migrations/migrate-main.ts', { DATABASE_URL: url.href });
      assert.match(stdout, /newest schema/);
    }
    await system.db.query(`DROP DATABASE ${name} WITH (FORCE)`);
  });

  it('accepts a text at one API server and reports its outcome by webhook and by the other server', async () => {
    ({ api_key: key } = await call(0, 'POST', '/v1/auth/quick-register', { email: 'flow@example.com' }));
    ({ id: instanceId } = await call(1, 'POST', '/v1/instances', { name: 'first' }));
    await call(0, 'POST', `/v1/instances/${instanceId}/connect`);
    await waitFor(
      async () => (await call(1, 'GET', `/v1/instances/${instanceId}`)).state === 'CONNECTED',
      60_000,
    );
    await call(1, 'PATCH', `/v1/instances/${instanceId}/settings`, {
      humanize_enabled: false,
      anti_spam_guard_enabled: false,
    });
    const { port } = receiver.address() as AddressInfo;
    const webhook = await call(0, 'POST', '/v1/webhooks', { url: `http://127.0.0.1:${port}/hook` });

    const { message_id } = await sendText(0, 'Hello!');
    const wanted = ['message.sent', 'message.delivered', 'message.read'];
    await waitFor(() => typesOf(message_id).length === wanted.length, 60_000, { what: 'three deliveries' });
    assert.deepEqual(typesOf(message_id).toSorted(), wanted.toSorted());
    for (const { headers, body } of deliveries) new Webhook(webhook.secret).verify(body, headers);

    // A reader never sees past a running transaction: the newest events may take a moment.
    const logged = await waitFor(async () => {
      const { data } = await call(1, 'GET', '/v1/events?types=message.*');
      const own = data.filter((event: { data: { message_ids: string[] } }) =>
        event.data.message_ids.includes(message_id),
      );
      return own.length >= wanted.length && own;
    });
    assert.deepEqual(logged.map(({ type }: { type: string }) => type).toReversed(), wanted);
    assert.equal((await call(1, 'GET', `/v1/instances/${instanceId}/message/${message_id}`)).status, 'read');
  });

  it('sends the collector one trace of a message, from its request to the delivery of its events', async () => {
    const answer = await fetch(`${system.urls[0]}/v1/instances/${instanceId}/messages/text`, {
      method: 'POST',
      headers: { 'x-api-key': key, 'content-type': 'application/json', 'idempotency-key': randomUUID() },
      body: JSON.stringify({ to: '5511987654321', text: 'Follow me' }),
    });
    assert.equal(answer.status, 202);
    const traceId = answer.headers.get('x-trace-id')!.replaceAll('-', '');
    const { message_id } = (await answer.json()) as { message_id: string };
    const ofTrace = () => collector.spans.filter((span) => span.traceId === traceId);
    const named = (name: string) => ofTrace().filter((span) => span.name === name);
    await waitFor(() => named('deliver').length === 3, 60_000, { what: 'the spans of three deliveries' });
    const besidesPublish = () => ofTrace().filter(({ name }) => name !== 'publish');
    await waitFor(() => besidesPublish().length >= 8, 60_000, { what: 'all spans' });

    assert.deepEqual(
      ofTrace()
        .map(({ service, name }) => `${service} ${name}`)
        .filter((name) => name !== 'posthorn-worker publish')
        .sort(),
      [
        'posthorn-messaging POST messages.sendText',
        'posthorn-messaging accept',
        'posthorn-worker deliver',
        'posthorn-worker deliver',
        'posthorn-worker deliver',
        'posthorn-worker queue',
        'posthorn-worker record',
        'posthorn-worker send',
      ],
    );
    const [request] = named('POST messages.sendText');
    assert.equal(request!.parentSpanId, '');
    assert.equal(request!.attributes['http.response.status_code'], 202);
    for (const span of ofTrace()) {
      if (span !== request) assert.equal(span.parentSpanId, request!.spanId, span.name);
      assert.equal(span.isError, false, span.name);
      assert.ok(span.endMs >= span.startMs && span.startMs > request!.startMs - 1_000, span.name);
    }
    assert.equal(named('accept')[0]!.attributes['posthorn.message_id'], message_id);
    assert.equal(named('send')[0]!.attributes['posthorn.outcome'], 'sent');
    assert.deepEqual(
      named('deliver')
        .map(({ attributes }) => attributes['posthorn.event_type'])
        .sort(),
      ['message.delivered', 'message.read', 'message.sent'],
    );
    // An owner that looks by itself at that moment needs no wake-up by the broker.
    await waitFor(
      () => collector.spans.some(({ service, name }) => service === 'posthorn-worker' && name === 'publish'),
      60_000,
      { what: 'the span of a wake-up' },
    );
    assert.equal(collector.requests[0]!.headers['x-tenant'], 'operators');
    // Spans contain only ids and our own words.
    assert.doesNotMatch(JSON.stringify(collector.spans), /Follow me|5511987654321|Hello!/);
  });

  it('answers for itself on every role', async () => {
    for (const base of system.urls) {
      const health = await (await fetch(`${base}/health`)).json();
      assert.deepEqual(health, { status: 'ok', service: 'messaging' });
      assert.match(await (await fetch(`${base}/metrics`)).text(), /http_request_duration_seconds_bucket/);
    }
  });

  it('exports every metric that the alerts and the dashboard query', async () => {
    const read = async (base: string) => (await fetch(`${base}/metrics`)).text();
    const workers = await Promise.all(system.workers.map(({ url }) => read(url)));
    const all = [...workers, ...(await Promise.all(system.urls.map(read)))].join('\n');
    const told = new Set([...all.matchAll(/^# HELP (\S+)/gm)].map(([, name]) => name));
    assert.deepEqual(
      figuresAskedFor().filter((name) => !told.has(name)),
      [],
    );
    const sum = (series: string) =>
      workers
        .flatMap((text) => text.split('\n'))
        .filter((line) => line.startsWith(`${series} `))
        .reduce((total, line) => total + Number(line.split(' ').at(-1)), 0);
    assert.equal(sum('posthorn_shards_owned'), 32);
    assert.equal(sum('posthorn_send_seconds_count{outcome="sent"}'), 2);
    // On a busy machine an endpoint may count as a slow one.
    const delivered = ['prompt', 'slow', 'failing'].map((endpoint) =>
      sum(`posthorn_webhook_delivery_seconds_count{endpoint="${endpoint}"}`),
    );
    assert.ok(delivered.reduce((total, count) => total + count) >= 3, String(delivered));
    // Each worker reports the totals.
    assert.equal(sum('posthorn_instances{state="CONNECTED",wanted="connected"}'), 2);
    assert.equal(sum('posthorn_unsent_messages{state="CONNECTED"}'), 0);
  });

  it('drains a worker on request: the other one takes its instances, and sends continue', async () => {
    const { rows } = await system.db.query<{ id: number }>(
      `SELECT owner_id AS id FROM shards JOIN instances USING (shard) WHERE instances.id = $1`,
      [instanceId],
    );
    const { id } = rows[0]!;
    const { stdout } = await run(process.execPath, ['admin/main.ts', 'drain', String(id)], {
      cwd: projectRoot,
      env: { ...baseEnv(), ...system.env },
    });
    assert.match(stdout, new RegExp(`^worker ${id} has no instances any more`));
    const { rows: left } = await system.db.query('SELECT FROM shards WHERE owner_id = $1', [id]);
    assert.equal(left.length, 0);
    const { message_id } = await sendText(0, 'By the other one');
    await waitFor(() => typesOf(message_id).includes('message.read'), 60_000, { what: 'the text is read' });
    await assert.rejects(
      run(process.execPath, ['admin/main.ts', 'drain', String((await otherThan(id)).id)], {
        cwd: projectRoot,
        env: { ...baseEnv(), ...system.env },
      }),
      /no other worker would take its instances/,
    );
    // A new worker in its place.
    const nth = system.workers.findIndex(({ output }) => output().includes('gives its shards away'));
    assert.equal(await system.workers[nth]!.kill('SIGTERM'), 0);
    system.workers.splice(nth, 1);
    await system.addWorker();
    system.workers.reverse();
  });

  const otherThan = async (id: number) =>
    (await system.db.query<{ id: number }>('SELECT id FROM workers WHERE id <> $1', [id])).rows[0]!;

  it('hands the shards of a stopping worker over, and the other one continues', async () => {
    assert.equal(await system.workers[0]!.kill('SIGTERM'), 0);
    const { message_id } = await sendText(1, 'Still there?');
    await waitFor(() => typesOf(message_id).includes('message.read'), 60_000, {
      what: 'the second text is read',
    });
    await waitFor(
      async () => {
        const { rows } = await system.db.query<{ owner_id: number | null }>(
          'SELECT DISTINCT owner_id FROM shards',
        );
        return rows.length === 1 && rows[0]!.owner_id !== null;
      },
      undefined,
      { what: 'the other owns every shard' },
    );
    await system.workers[0]!.restart();
  });

  for (const [role, entry] of [
    ['messaging', 'server/messaging/main.ts'],
    ['worker', 'worker/main.ts'],
  ] as const)
    it(`reports a missing or wrong setting of ${role} in one line`, async () => {
      const { DATABASE_URL, ...rest } = system.env;
      const missing = await runMain(entry, rest).catch((err) => err);
      assert.equal(missing.code, 1);
      assert.equal(missing.stderr, `${role}: DATABASE_URL is required\n`);
      const wrong = await runMain(entry, { ...system.env, PORT: 'eighty' }).catch((err) => err);
      assert.equal(wrong.code, 1);
      assert.match(wrong.stderr, new RegExp(`^${role}: PORT: [^\\n]+\\n$`));
      const away = await runMain(entry, { ...system.env, DATABASE_URL: 'postgres://127.0.0.1:1/x' }).catch(
        (e) => e,
      );
      assert.equal(away.code, 1);
      assert.match(away.stderr, new RegExp(`^${role}: the database cannot be reached: [^\\n]+\\n$`));
    });
});
