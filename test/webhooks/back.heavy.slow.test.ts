import assert from 'node:assert/strict';
import { after, before, type TestContext, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { tellFigure } from '../support/figures.ts';
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

/** Events a second for the endpoint that goes away; the ten others together get OTHERS_PER_SECOND. */
const PER_SECOND = 50;
const OTHERS = 10;
const OTHERS_PER_SECOND = 100;
const QUIET_S = 10;
/** Time before it goes away, so that it is known as an endpoint that answers. */
const WELL_MS = 3_000;

let parts: Parts;
let workers: ChildProgram[];
let traffic: ChildProgram & { firstLine: string };
before(async () => {
  parts = await createParts();
  const start = () => startProgram('dispatcher-main.ts', { DATABASE_URL: parts.url });
  workers = [await start(), await start()];
  traffic = await startProgram('live-traffic-main.ts', { DATABASE_URL: parts.url });
});
after(async () => {
  for (const worker of workers) await worker.kill();
  await traffic.kill();
  await parts.close();
});

interface Latency {
  p50: number;
  p95: number;
  p99: number;
}

async function startOthers(): Promise<(seconds: number) => Promise<Latency>> {
  const companyIds: number[] = [];
  for (let i = 0; i < OTHERS; i += 1) {
    const { companyId } = await seedCompany(parts.db);
    companyIds.push(companyId);
    await seedWebhook(parts.db, companyId, `http://127.0.0.1:${traffic.firstLine}/`);
  }
  const live = async (seconds: number): Promise<Latency> =>
    JSON.parse(await traffic.ask(`${companyIds.join(',')} ${OTHERS_PER_SECOND} ${seconds}`));
  await live(2);
  return live;
}

/** Emits events at an even pace until the signal; counts them. */
async function emitUntil(companyId: number, signal: AbortSignal): Promise<number> {
  let count = 0;
  for (const startedAt = performance.now(); !signal.aborted; count += 5) {
    await emitEvents(parts, companyId, 5);
    await delay(Math.max(0, startedAt + ((count + 5) * 1_000) / PER_SECOND - performance.now()));
  }
  return count;
}

/** `refuses`: answers 503 at once. `hangs`: answers nothing, and its connections are reset when it is back. */
async function goAway(t: TestContext, awayS: number, how: 'refuses' | 'hangs'): Promise<void> {
  let isAway = false;
  const hanging = new Set<() => void>();
  const receiver = await startReceiver((req, res) => {
    if (!isAway) return void res.end('ok');
    if (how === 'refuses') return void res.writeHead(503).end();
    hanging.add(() => req.socket.destroy());
  });
  t.after(receiver.close);
  const live = await startOthers();
  const quiet = await live(QUIET_S);
  const { companyId } = await seedCompany(parts.db);
  const { id } = await seedWebhook(parts.db, companyId, receiver.url);
  const stop = new AbortController();
  const emitting = emitUntil(companyId, stop.signal);
  await delay(WELL_MS);
  isAway = true;
  await delay(awayS * 1_000);
  const missed = await parts.db.query<{ id: number }>(
    'SELECT id FROM webhook_deliveries WHERE webhook_id = $1',
    [id],
  );
  const ids = missed.rows.map((row) => row.id);
  const beside = live(QUIET_S);
  isAway = false;
  for (const reset of hanging) reset();
  const backAt = performance.now();
  const isThere = async () => {
    const { rows } = await parts.db.query('SELECT 1 FROM webhook_deliveries WHERE id = ANY ($1) LIMIT 1', [
      ids,
    ]);
    return rows.length === 0;
  };
  await waitFor(isThere, 600_000, { everyMs: 100 });
  const tookS = (performance.now() - backAt) / 1_000;
  const name = `an endpoint that ${how}, away ${awayS} s`;
  tellFigure(`${name}: ${ids.length} that waited are there after`, tookS, { atMost: 10 }, 's');
  const busy = await beside;
  for (const what of ['p95', 'p99'] as const)
    tellFigure(`${name}: ${what} of the others meanwhile, quiet ${quiet[what].toFixed(1)}`, busy[what], {
      atMost: Math.max(2 * quiet[what], quiet[what] + 30),
    });
  stop.abort();
  const count = await emitting;
  await waitFor(async () => (await pendingOf(parts.db, id)) === 0, 60_000);
  const byEvent = Map.groupBy(await logsOf(parts.db, id), (log) => log.event_id);
  assert.equal(byEvent.size, count);
  let most = 0;
  for (const attempts of byEvent.values()) {
    most = Math.max(most, attempts.length);
    assert.deepEqual(
      attempts.map((log) => [log.attempt, log.success]),
      attempts.map((_, nth) => [nth + 1, nth === attempts.length - 1]),
    );
  }
  t.diagnostic(`${name}: ${count} deliveries, ${receiver.requests} attempts, ${most} for one at most`);
}

for (const awayS of [20, 90])
  for (const how of ['refuses', 'hangs'] as const)
    test(`an endpoint that ${how} for ${awayS} s under load has everything soon after, and others are not hurt`, (t) =>
      goAway(t, awayS, how));
