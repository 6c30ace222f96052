import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { tellFigure } from '../support/figures.ts';
import { createParts, type Parts } from '../support/parts.ts';
import { freePort, waitFor } from '../support/process.ts';
import { seedCompany } from '../support/seed.ts';
import { emitEvents, logsOf, seedWebhook, startDispatcher, startProgram } from './support.ts';

let parts: Parts;
before(async () => {
  parts = await createParts();
});
after(() => parts.close());

const WARM_UP = 20;
const EACH = process.env.POSTHORN_FULL ? 200 : 20;

test('hostile receivers are logged with their class, cost little memory, and reach nothing inside', async (t) => {
  const receiver = await startHostile();
  t.after(receiver.kill);
  const company = await seedCompany(parts.db);
  const expected: Record<string, string> = {
    drip: 'timeout',
    headers: 'timeout',
    hang: 'timeout',
    endless: '',
    bomb: '',
    redirect: 'redirect',
    reset: 'connection',
    cut200: '',
    cut404: 'permanent_4xx',
    garbage: 'connection',
    '500': 'server_5xx',
    '503': 'server_5xx',
    '429': 'rate_limited',
    '410': 'permanent_4xx',
    '400': 'permanent_4xx',
    '404': 'permanent_4xx',
    '408': 'timeout',
    '409': 'retryable_4xx',
    '413': 'payload_rejected',
    '422': 'payload_rejected',
    '204': '',
  };
  const webhooks = new Map<string, { id: number }>();
  for (const kind of Object.keys(expected))
    webhooks.set(
      kind,
      await seedWebhook(parts.db, company.companyId, `${receiver.url}/${kind}`, { patterns: ['message.*'] }),
    );
  const closedPort = await freePort();
  for (const [kind, url] of [
    ['refused', `http://127.0.0.1:${closedPort}/`],
    ['untrusted', receiver.tlsUrl],
    ['no such name', 'http://nothing.invalid/'],
  ] as const)
    webhooks.set(kind, await seedWebhook(parts.db, company.companyId, url, { patterns: ['message.*'] }));
  Object.assign(expected, { refused: 'connection', untrusted: 'tls', 'no such name': 'dns' });

  const timeoutMs = process.env.POSTHORN_FULL ? 15_000 : 3_000;
  const dispatcher = await startDispatcher(parts, { timeoutMs });
  t.after(dispatcher.close);
  await emitEvents(parts, company.companyId, 1);
  const firstLogs = async () => {
    const found = new Map<string, Awaited<ReturnType<typeof logsOf>>[number]>();
    for (const [kind, webhook] of webhooks) {
      const log = (await logsOf(parts.db, webhook.id))[0];
      if (log) found.set(kind, log);
    }
    return found.size === webhooks.size && found;
  };
  const logs = await waitFor(firstLogs, timeoutMs + 60_000, { everyMs: 200 });
  assert.deepEqual(Object.fromEntries([...logs].map(([kind, log]) => [kind, log.error_class])), expected);
  for (const kind of ['drip', 'headers', 'hang']) {
    const { latency_ms: latencyMs } = logs.get(kind)!;
    assert.ok(latencyMs >= timeoutMs, `${kind} ended after ${latencyMs} ms`);
    tellFigure(`${kind} ended`, latencyMs, { atMost: timeoutMs + 1_000 });
  }
  assert.equal(logs.get('400')!.response, 'answered 400');
  assert.equal(logs.get('endless')!.response.length, 4096);
  assert.match(logs.get('bomb')!.response, /content-encoding gzip/);

  await dispatcher.close();

  // Many of them at once, in a worker of its own: its memory stays flat once it is warm.
  const worker = await startProgram('dispatcher-main.ts', {
    DATABASE_URL: parts.url,
    TIMEOUT_MS: String(timeoutMs),
  });
  t.after(worker.kill);
  const warmUp: string[] = [];
  for (let i = 0; i < WARM_UP; i += 1)
    for (const { eventId } of await emitEvents(parts, company.companyId, 5)) warmUp.push(eventId);
  const firstTries = async () => {
    const { rows } = await parts.db.query<{ tried: number; webhooks: number }>(
      `SELECT count(*)::int AS tried, count(DISTINCT webhook_id)::int AS webhooks
       FROM webhook_delivery_logs WHERE attempt = 1 AND event_id = ANY ($1::uuid[])`,
      [warmUp],
    );
    return rows[0]!;
  };
  // It is warm once each was tried, except 410, which has disabled its webhook, and once nothing new came for longer
  // than a try takes.
  await waitFor(async () => (await firstTries()).webhooks === webhooks.size - 1, 120_000, { everyMs: 200 });
  for (let [last, tried] = [-1, 0]; tried !== last; ) {
    last = tried;
    await delay(timeoutMs + 1_000);
    tried = (await firstTries()).tried;
  }
  const before = Number(await worker.ask());
  let highest = 0;
  const end = performance.now() + timeoutMs * 2;
  // The memory in use: when garbage is collected is V8's choice, by the size of the machine.
  for (let i = 0; i < EACH || performance.now() < end; i += 1) {
    if (i < EACH) await emitEvents(parts, company.companyId, 5);
    if (i % 10 === 0) highest = Math.max(highest, Number(await worker.ask()));
    await delay(20);
  }
  await worker.kill();
  const grownMb = (highest - before) / 1024 / 1024;
  t.diagnostic(`memory grew by ${grownMb.toFixed(1)} MB over ${EACH * 5 * webhooks.size} deliveries`);
  assert.ok(grownMb < 50, `memory grew by ${grownMb.toFixed(1)} MB`);
  assert.equal(await receiver.canaryConnections(), 0, 'the redirect was not followed');

  // With the guard on, no way leads to the canary, by address, by name or by an address that a name resolves to.
  const port = receiver.canaryPort;
  const inside = await seedCompany(parts.db);
  const ways = [
    `http://127.0.0.1:${port}/`,
    `http://localhost:${port}/`,
    'http://127.0.0.1:8080/',
    'http://[::1]:8080/',
    'http://[::ffff:127.0.0.1]:8080/',
    'http://2130706433:8080/',
    'http://169.254.169.254/latest/meta-data',
    'http://rebinding.example:8080/',
    'http://mixed.example:8080/',
  ];
  const guarded = [];
  for (const way of ways) guarded.push(await seedWebhook(parts.db, inside.companyId, way));
  const strict = await startDispatcher(parts, {
    outboundOptions: {
      allowPrivate: false,
      resolver: async (name) => (name === 'mixed.example' ? ['93.184.216.34', '10.0.0.1'] : ['127.0.0.1']),
    },
  });
  t.after(strict.close);
  await emitEvents(parts, inside.companyId, 1);
  for (const [index, webhook] of guarded.entries()) {
    const [log] = await waitFor(async () => {
      const found = await logsOf(parts.db, webhook.id);
      return found.length > 0 && found;
    });
    assert.equal(log!.error_class, 'blocked', ways[index]);
  }
  await strict.close();
  assert.equal(await receiver.canaryConnections(), 0);
});

async function startHostile() {
  const program = await startProgram('hostile-receiver-main.ts');
  const ports = JSON.parse(program.firstLine);
  return {
    url: `http://127.0.0.1:${ports.http}`,
    tlsUrl: `https://localhost:${ports.https}/`,
    canaryPort: ports.canary as number,
    canaryConnections: async () => Number(await program.ask()),
    kill: program.kill,
  };
}
