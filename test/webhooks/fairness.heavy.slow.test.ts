import assert from 'node:assert/strict';
import { after, before, type TestContext, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { retryDeliveries } from '@posthorn/core/webhooks/retry-deliveries.ts';
import { createParts, type Parts } from '../support/parts.ts';
import { waitFor } from '../support/process.ts';
import { seedCompany } from '../support/seed.ts';
import {
  type ChildProgram,
  emitEvents,
  logsOf,
  pendingOf,
  seedWebhook,
  startProgram,
  startReceiver,
} from './support.ts';

/** In full with POSTHORN_FULL=1; otherwise a quarter of it. */
const FULL = Boolean(process.env.POSTHORN_FULL);
const SECONDS = FULL ? 20 : 5;
const PER_SECOND = 100;
const OTHERS = 10;
/**
 * Latencies are a few milliseconds: below this a ratio means nothing. The short form allows more, because it also runs
 * on shared machines; the full one is for a machine of its own.
 */
const NOISE_MS = FULL ? 10 : 30;

let parts: Parts;
let worker: ChildProgram;
let traffic: ChildProgram & { firstLine: string };
before(async () => {
  parts = await createParts();
  worker = await startProgram('dispatcher-main.ts', { DATABASE_URL: parts.url });
  traffic = await startProgram('live-traffic-main.ts', { DATABASE_URL: parts.url });
});
after(async () => {
  await worker.kill();
  await traffic.kill();
  await parts.close();
});

async function quietTenants() {
  const companyIds: number[] = [];
  for (let i = 0; i < OTHERS; i += 1) companyIds.push((await seedCompany(parts.db)).companyId);
  const webhookIds: number[] = [];
  for (const companyId of companyIds)
    webhookIds.push((await seedWebhook(parts.db, companyId, `http://127.0.0.1:${traffic.firstLine}/`)).id);
  const live = async (seconds: number): Promise<Latency> =>
    JSON.parse(await traffic.ask(`${companyIds.join(',')} ${PER_SECOND} ${seconds}`));
  await live(2);
  return { companyIds, webhookIds, live };
}

interface Latency {
  p50: number;
  p95: number;
  p99: number;
}

/**
 * Compares a quiet period with a busy one, up to three times: other work on the machine may spoil a comparison, but not
 * three in a row.
 */
async function assertAtMost(
  ratio: number,
  what: keyof Latency,
  measure: () => Promise<{ quiet: Latency; busy: Latency }>,
  t: TestContext,
): Promise<void> {
  const seen: string[] = [];
  for (let round = 0; round < 3; round += 1) {
    const { quiet, busy } = await measure();
    t.diagnostic(shown('quiet', quiet));
    t.diagnostic(shown('busy ', busy));
    if (busy[what] <= Math.max(quiet[what] * ratio, quiet[what] + NOISE_MS)) return;
    seen.push(`${busy[what].toFixed(1)} ms against ${quiet[what].toFixed(1)} ms`);
  }
  const told = `${what} of the others grew more than ${ratio}x, NOT MET: ${seen.join(', ')}`;
  t.diagnostic(told);
  // Times fail a test only in a full run, on a quiet machine.
  if (FULL) assert.fail(told);
}

function shown(name: string, latency: Latency): string {
  return `${name}: p50 ${latency.p50.toFixed(1)} ms, p95 ${latency.p95.toFixed(1)} ms, p99 ${latency.p99.toFixed(1)} ms`;
}

test('p95 of the others while 50 endpoints hang with 10,000 deliveries waiting (aim: 2x at most)', async (t) => {
  const { live } = await quietTenants();
  const hanging = await startReceiver(() => undefined, { keep: false });
  t.after(hanging.close);
  const measure = async () => {
    await parts.db.query('DELETE FROM webhooks WHERE url LIKE $1', [`${hanging.url}%`]);
    const quiet = await live(SECONDS);
    for (let i = 0; i < 50; i += 1) {
      const company = await seedCompany(parts.db);
      await seedWebhook(parts.db, company.companyId, `${hanging.url}/${i}`);
      await emitEvents(parts, company.companyId, 200);
    }
    return { quiet, busy: await live(FULL ? 40 : 2 * SECONDS) };
  };
  await assertAtMost(2, 'p95', measure, t);
  assert.ok(hanging.requests >= 50, 'each of them was tried');
  await parts.db.query('DELETE FROM webhooks WHERE url LIKE $1', [`${hanging.url}%`]);
});

test('p99 of the others while one tenant bursts 200x (aim: 2x at most)', async (t) => {
  const { live } = await quietTenants();
  const burster = await seedCompany(parts.db);
  const loud = await startReceiver((_req, res) => res.end('ok'), { keep: false });
  t.after(loud.close);
  const webhook = await seedWebhook(parts.db, burster.companyId, loud.url);
  // Each of the others has 10 a second; this one 2,000, in batches of 200.
  const rate = (PER_SECOND / OTHERS) * 200;
  const measure = async () => {
    const quiet = await live(SECONDS);
    let bursting = true;
    const burst = (async () => {
      while (bursting) {
        const startedAt = performance.now();
        await emitEvents(parts, burster.companyId, rate / 10);
        await delay(Math.max(0, 100 - (performance.now() - startedAt)));
      }
    })();
    const busy = await live(SECONDS);
    bursting = false;
    await burst;
    await waitFor(async () => (await pendingOf(parts.db, webhook.id)) === 0, 120_000);
    return { quiet, busy };
  };
  await assertAtMost(2, 'p99', measure, t);
  t.diagnostic(`the bursts: ${loud.requests} deliveries`);
});

test('a replay of 20,000 failures counts every attempt; p95 of live traffic beside it (aim: 1.5x at most)', async (t) => {
  const count = FULL ? 20_000 : 5_000;
  const { companyIds, webhookIds, live } = await quietTenants();
  // Failures of the same webhooks that carry the live traffic: the hardest case.
  await parts.db.query(
    `WITH w AS (SELECT id, company_id, (row_number() OVER (ORDER BY id) - 1)::int AS nth FROM webhooks WHERE id = ANY ($1::int[])),
     e AS (
       INSERT INTO events (tx, event_id, company_id, type, data, created_at)
       SELECT (SELECT event_tx()), gen_random_uuid(), w.company_id, 'message.read', '{"replayed": true}', date_trunc('milliseconds', now())
       FROM generate_series(1, $2::int) n JOIN w ON w.nth = n % $3
       RETURNING event_id, company_id, type, created_at)
     INSERT INTO webhook_delivery_logs (company_id, webhook_id, webhook_url, event_id, event_type, event_created_at,
       attempt, success, status_code, error_class, latency_ms, created_at)
     SELECT e.company_id, w.id, '', e.event_id, e.type, e.created_at, 3, false, 400, 'permanent_4xx', 1, now()
     FROM e JOIN w USING (company_id)`,
    [webhookIds, count, OTHERS],
  );
  const { rows } = await parts.db.query<{ id: number; company_id: number }>(
    `SELECT id, company_id FROM webhook_delivery_logs WHERE event_type = 'message.read' AND webhook_id = ANY ($1)`,
    [webhookIds],
  );
  assert.equal(rows.length, count);
  let queued = 0;
  const replay = async () => {
    for (const companyId of companyIds) {
      const ids = rows.filter((row) => row.company_id === companyId).map((row) => row.id);
      for (let i = 0; i < ids.length; i += 500) {
        const principal = { companyId, isSuperadmin: false } as Parameters<
          typeof retryDeliveries
        >[1]['principal'];
        const now = { ...parts, clock: { ...parts.clock, now: () => new Date() } };
        const result = await retryDeliveries(now, { principal, logIds: ids.slice(i, i + 500) });
        queued += result.queued;
      }
    }
  };
  const quiet = await live(SECONDS);
  const replaying = replay();
  const busy = await live(SECONDS);
  await replaying;
  for (const id of webhookIds)
    await waitFor(async () => (await pendingOf(parts.db, id)) === 0, 60_000, { everyMs: 100 });
  assert.equal(queued, count);
  for (const id of webhookIds) {
    const replayed = (await logsOf(parts.db, id)).filter((log) => log.attempt > 1);
    const byEvent = [...Map.groupBy(replayed, (log) => log.event_id).values()];
    assert.equal(byEvent.length, count / OTHERS);
    for (const attempts of byEvent)
      assert.deepEqual(
        attempts.map((log) => [log.attempt, log.success]),
        [
          [3, false],
          [4, true],
        ],
      );
  }
  let first = true;
  const measure = async () => {
    if (first) {
      first = false;
      return { quiet, busy };
    }
    // Once more, now with a replay of successful deliveries: the same work.
    const before = await live(SECONDS);
    const again = replay();
    const during = await live(SECONDS);
    await again;
    return { quiet: before, busy: during };
  };
  await assertAtMost(1.5, 'p95', measure, t);
});
