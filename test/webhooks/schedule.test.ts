import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { after, before, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { createDb, type Db } from '@posthorn/core/platform/database/db.ts';
import { createParts, type Parts } from '../support/parts.ts';
import { waitFor } from '../support/process.ts';
import { seedCompany } from '../support/seed.ts';
import { sized } from '../support/size.ts';
import { createTestClock } from '../support/test-clock.ts';
import {
  advance,
  emitEvents,
  logsOf,
  pendingOf,
  seedWebhook,
  startDispatcher,
  startProgram,
  startReceiver,
} from './support.ts';

let parts: Parts;
before(async () => {
  parts = await createParts();
});
after(() => parts.close());

/** The test with these runs on the real schedule, whose first wait is 5 s. */
const KILLS = sized(3, 8, 8);
const DELIVERIES = process.env.POSTHORN_FULL ? 2_000 : sized(60, 300, 2_000);

/** WHK-8: 5 s, 1 m, 5 m, 15 m, 1 h, 6 h, 6 h. */
const SCHEDULE_S = [5, 60, 300, 900, 3600, 21_600, 21_600];

for (const [random, factor] of [
  [0, 0.8],
  [0.5, 1],
  [0.999999, 1.2],
] as const) {
  test(`a failing delivery is tried 8 times over 14 hours, to the second, with jitter ${factor}`, async (t) => {
    const clock = createTestClock(new Date());
    const receiver = await startReceiver((_req, res) => res.writeHead(500).end('not yet'));
    t.after(receiver.close);
    const company = await seedCompany(parts.db);
    const webhook = await seedWebhook(parts.db, company.companyId, receiver.url);
    const dispatcher = await startDispatcher(parts, { clock, random: () => random });
    t.after(dispatcher.close);
    await emitEvents(parts, company.companyId, 1, { createdAt: clock.now() });
    const logged = async (count: number) => {
      const logs = await waitFor(async () => {
        const found = await logsOf(parts.db, webhook.id);
        return found.length >= count && found;
      });
      assert.equal(logs.length, count);
      return logs;
    };
    let last = (await logged(1)).at(-1)!.created_at.getTime();
    for (const [index, delayS] of SCHEDULE_S.entries()) {
      const dueMs = delayS * 1000 * factor;
      await advance(clock, last + dueMs - 1_000 - clock.now().getTime());
      await delay(60);
      await logged(index + 1);
      // Within two seconds of its time: one for the clock's step, one for the interval of the search.
      await advance(clock, 1_000);
      await advance(clock, 1_000);
      const logs = await logged(index + 2);
      assert.equal(logs.at(-1)!.attempt, index + 2);
      const waitedMs = logs.at(-1)!.created_at.getTime() - last;
      last += waitedMs;
      assert.ok(
        waitedMs >= dueMs - 1 && waitedMs <= dueMs + 2_000,
        `attempt ${index + 2} after ${waitedMs} ms`,
      );
    }
    assert.equal(await pendingOf(parts.db, webhook.id), 0, 'the eighth was the last');
    await advance(clock, 86_400_000);
    await delay(60);
    await logged(8);
  });
}

test('a retry that is scheduled during a scan is not forgotten until the next scan', async (t) => {
  const clock = createTestClock(new Date());
  const answers: ServerResponse[] = [];
  const receiver = await startReceiver((_req, res) => void answers.push(res));
  t.after(receiver.close);
  const company = await seedCompany(parts.db);
  const webhook = await seedWebhook(parts.db, company.companyId, receiver.url);
  let held: { release(): void } | null = null;
  let holds = false;
  const db = createDb({ url: parts.url, poolSize: 6, log: parts.log, name: 'test worker', plans: 'indexed' });
  t.after(() => db.close());
  const query: Db['query'] = async (request, ...values) => {
    const result = await db.query(request as never, ...(values as []));
    if (holds && typeof request === 'object' && request.name === 'deliveries-find-all')
      await new Promise<void>((resolve) => {
        held = { release: resolve };
      });
    return result as never;
  };
  const dispatcher = await startDispatcher(parts, { clock, db: { ...db, query }, random: () => 0.5 });
  t.after(dispatcher.close);
  const logged = (count: number) =>
    waitFor(async () => (await logsOf(parts.db, webhook.id)).length === count);
  await emitEvents(parts, company.companyId, 1, { createdAt: clock.now() });
  (await waitFor(() => answers[0])).writeHead(500).end();
  await logged(1);
  await advance(clock, 5_000);
  const second = await waitFor(() => answers[1]);
  holds = true;
  await advance(clock, 1_000);
  const scan = await waitFor(() => held);
  holds = false;
  second.writeHead(500).end();
  await logged(2);
  // The next scan waits twenty times as long as this one took, which is longer than the minute until the retry.
  await delay(3_500);
  scan.release();
  await advance(clock, 60_000);
  (await waitFor(() => answers[2])).end('ok');
  await waitFor(async () => (await pendingOf(parts.db, webhook.id)) === 0);
});

test('Retry-After in seconds or as a date moves the retry; a refusal for good is tried 3 times only', async (t) => {
  const clock = createTestClock(new Date());
  const receiver = await startReceiver((req, res) => {
    if (req.url === '/refuse') return void res.writeHead(400).end('no');
    const header =
      req.url === '/seconds' ? '7200' : new Date(clock.now().getTime() + 7_200_000).toUTCString();
    res.writeHead(503, { 'retry-after': header }).end();
  });
  t.after(receiver.close);
  const company = await seedCompany(parts.db);
  const webhooks: { id: number }[] = [];
  for (const path of ['/seconds', '/date', '/refuse'])
    webhooks.push(await seedWebhook(parts.db, company.companyId, receiver.url + path));
  const dispatcher = await startDispatcher(parts, { clock });
  t.after(dispatcher.close);
  const counts = () => Promise.all(webhooks.map(async ({ id }) => (await logsOf(parts.db, id)).length));
  const reach = (expected: number[]) =>
    waitFor(async () => String(await counts()) === String(expected)).catch(async () =>
      assert.deepEqual(await counts(), expected),
    );
  await emitEvents(parts, company.companyId, 1, { createdAt: clock.now() });
  await reach([1, 1, 1]);
  await advance(clock, 10_000);
  await reach([1, 1, 2]);
  await advance(clock, 80_000);
  await reach([1, 1, 3]);
  await advance(clock, 7_200_000 - 92_000);
  await delay(100);
  await reach([1, 1, 3]);
  await advance(clock, 4_000);
  await reach([2, 2, 3]);
  assert.equal(await pendingOf(parts.db, webhooks[2]!.id), 0);
});

test('a worker killed again and again, between and amid attempts, loses nothing and miscounts nothing', async (t) => {
  const tries = new Map<string, number>();
  // Every delivery fails once or twice before it succeeds, by its id; answers take up to 200 ms.
  const failuresOf = (id: string) => (Number.parseInt(id.slice(-1), 16) % 4 === 0 ? 2 : 1);
  const receiver = await startReceiver((req, res) => {
    const id = String(req.headers['webhook-id']);
    tries.set(id, (tries.get(id) ?? 0) + 1);
    const succeeds = (tries.get(id) ?? 0) > failuresOf(id);
    setTimeout(() => res.writeHead(succeeds ? 200 : 503).end(), Math.random() * 200);
  });
  t.after(receiver.close);
  const company = await seedCompany(parts.db);
  const webhook = await seedWebhook(parts.db, company.companyId, receiver.url);
  const events = await emitEvents(parts, company.companyId, DELIVERIES);
  const settled = async () => (await pendingOf(parts.db, webhook.id)) === 0;
  // The schedule is the real one; the second wait, a minute, is shortened so that the test ends soon.
  const hurry = setInterval(() => {
    void parts.db
      .query(`UPDATE webhook_deliveries SET next_attempt_at = now() WHERE attempts = 2 AND webhook_id = $1`, [
        webhook.id,
      ])
      .catch(() => undefined);
  }, 500);
  t.after(() => clearInterval(hurry));
  let kills = 0;
  const deadline = performance.now() + (process.env.POSTHORN_FULL ? 300_000 : 240_000);
  while (!(await settled())) {
    assert.ok(performance.now() < deadline, 'it must end');
    const worker = await startProgram('dispatcher-main.ts', { DATABASE_URL: parts.url, LEASE_MS: '2000' });
    const lifeMs = kills < KILLS ? 200 + Math.random() * 1_000 : 20_000;
    await waitFor(settled, lifeMs, { everyMs: 50 }).catch(() => undefined);
    await worker.kill();
    kills += 1;
  }
  const logs = await logsOf(parts.db, webhook.id);
  const byEvent = Map.groupBy(logs, (log) => log.event_id);
  assert.equal(byEvent.size, DELIVERIES);
  for (const event of events) {
    const attempts = byEvent.get(event.eventId)!;
    assert.deepEqual(
      attempts.map((log) => log.attempt),
      attempts.map((_, index) => index + 1),
      'numbered without a gap or a repeat',
    );
    assert.deepEqual(
      attempts.map((log) => log.success),
      attempts.map((_, index) => index === attempts.length - 1),
    );
    assert.ok(tries.get(event.eventId)! >= attempts.length);
  }
  t.diagnostic(
    `${DELIVERIES} deliveries, ${kills} workers, ${logs.length} attempts logged, ${receiver.requests} made`,
  );
});

test('what was waiting for its first attempt when the clock of the database was set back goes out at once', async (t) => {
  const receiver = await startReceiver();
  t.after(receiver.close);
  const company = await seedCompany(parts.db);
  const webhook = await seedWebhook(parts.db, company.companyId, receiver.url);
  const before = await emitEvents(parts, company.companyId, 3, {
    createdAt: new Date(Date.now() + 3 * 3_600_000),
  });
  const since = await emitEvents(parts, company.companyId, 1);
  const dispatcher = await startDispatcher(parts);
  t.after(dispatcher.close);
  await waitFor(async () => (await pendingOf(parts.db, webhook.id)) === 0);
  assert.deepEqual(
    receiver.received.map(({ headers }) => String(headers['webhook-id'])).sort(),
    [...before, ...since].map(({ eventId }) => eventId).sort(),
  );
});
