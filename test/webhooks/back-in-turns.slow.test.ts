import assert from 'node:assert/strict';
import { after, before, type TestContext, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { tellFigure } from '../support/figures.ts';
import { createParts, type Parts } from '../support/parts.ts';
import { waitFor } from '../support/process.ts';
import { seedCompany } from '../support/seed.ts';
import { createTestClock, type TestClock } from '../support/test-clock.ts';
import {
  advance,
  emitEvents,
  logsOf,
  pendingOf,
  type Receiver,
  seedWebhook,
  startDispatcher,
  startReceiver,
} from './support.ts';

/** An endpoint counts as away after two real seconds of failures, whatever a test's clock says. */
const AWAY_REAL_MS = 2_500;
const STEP_MS = 2_000;
const PER_STEP = 10;
/** By the test's clock, from the return on. */
const WITHIN_MS = 10_000;

let parts: Parts;
before(async () => {
  parts = await createParts();
});
after(() => parts.close());

/** The answers of an endpoint: this many times 200, then 503. */
interface Answers {
  successes: number;
  retryAfter(eventId: string): string | null;
}

interface Away {
  clock: TestClock;
  webhookId: number;
  receiver: Receiver;
  answers: Answers;
  /** Ids of the events in order. */
  eventIds: string[];
  emit(count: number): Promise<void>;
}

/** An endpoint that has answered 503 for this long by the clock, while events kept coming and their attempts failed. */
async function startAway(
  t: TestContext,
  awayMs: number,
  more: Partial<Answers> & { workers?: number } = {},
): Promise<Away> {
  const { workers = 1, ...given } = more;
  const clock = createTestClock(new Date());
  const answers: Answers = { successes: 0, retryAfter: () => null, ...given };
  const receiver = await startReceiver((req, res) => {
    answers.successes -= 1;
    if (answers.successes >= 0) return void res.end('ok');
    const retryAfter = answers.retryAfter(String(req.headers['webhook-id']));
    res.writeHead(503, retryAfter === null ? {} : { 'retry-after': retryAfter }).end();
  });
  t.after(receiver.close);
  const { companyId } = await seedCompany(parts.db);
  const { id: webhookId } = await seedWebhook(parts.db, companyId, receiver.url);
  for (let i = 0; i < workers; i += 1) {
    const dispatcher = await startDispatcher(parts, { clock });
    t.after(dispatcher.close);
  }
  const eventIds: string[] = [];
  const emit = async (count: number) => {
    const events = await emitEvents(parts, companyId, count, { createdAt: clock.now() });
    eventIds.push(...events.map(({ eventId }) => eventId));
  };
  const until = performance.now() + AWAY_REAL_MS;
  for (let leftMs = awayMs; leftMs > 0; leftMs -= STEP_MS) {
    await emit(PER_STEP);
    await waitFor(async () => (await attemptsByEvent(webhookId)).size === eventIds.length);
    await advance(clock, STEP_MS);
  }
  await delay(Math.max(0, until - performance.now()));
  await isQuiet(receiver);
  answers.successes = 0;
  receiver.received.splice(0);
  return { clock, webhookId, receiver, answers, eventIds, emit };
}

async function isQuiet(receiver: Receiver): Promise<void> {
  for (let requests = -1; requests !== receiver.requests; await delay(400)) requests = receiver.requests;
}

async function attemptsByEvent(
  webhookId: number,
): Promise<Map<string, { attempt: number; success: boolean }[]>> {
  return Map.groupBy(await logsOf(parts.db, webhookId), (log) => log.event_id);
}

async function isDone(webhookId: number): Promise<boolean> {
  return (await pendingOf(parts.db, webhookId)) === 0;
}

/** The time of the next attempt of each waiting event. */
async function scheduleOf(webhookId: number): Promise<Map<string, number>> {
  const { rows } = await parts.db.query<{ event_id: string; next_attempt_at: Date }>(
    'SELECT event_id, next_attempt_at FROM webhook_deliveries WHERE webhook_id = $1 AND leased_until IS NULL',
    [webhookId],
  );
  return new Map(rows.map((row) => [row.event_id, row.next_attempt_at.getTime()]));
}

for (const [awayS, workers] of [
  [20, 1],
  [90, 1],
  [90, 2],
] as const)
  test(`away for ${awayS} s: everything within 10 s of the return, oldest first, once; ${workers} workers`, async (t) => {
    const away = await startAway(t, awayS * 1_000, { workers });
    const { clock, receiver, eventIds, webhookId } = away;
    const missed = eventIds.length;
    assert.equal(await pendingOf(parts.db, webhookId), missed);
    away.answers.successes = Number.POSITIVE_INFINITY;
    await away.emit(1);
    let passedMs = 0;
    // The clock stands still while attempts are made: a slow machine makes fewer of them in a second.
    for (;;) {
      await isQuiet(receiver);
      if ((await isDone(webhookId)) || passedMs > WITHIN_MS) break;
      await advance(clock, 500);
      passedMs += 500;
    }
    assert.ok(passedMs <= WITHIN_MS, `${await pendingOf(parts.db, webhookId)} of ${missed} still wait`);
    const order = receiver.received.map(({ headers }) => eventIds.indexOf(String(headers['webhook-id'])));
    assert.deepEqual(
      order.toSorted((a, b) => a - b),
      [...eventIds.keys()],
      'each once',
    );
    for (const attempts of (await attemptsByEvent(webhookId)).values())
      assert.deepEqual(
        attempts.map(({ attempt, success }) => [attempt, success]),
        attempts.map((_, nth) => [nth + 1, nth === attempts.length - 1]),
      );
    let newest = 0;
    let behind = 0;
    for (const place of order.filter((each) => each < missed)) {
      newest = Math.max(newest, place);
      behind = Math.max(behind, newest - place);
    }
    tellFigure(`away ${awayS} s: everything there on the clock after`, passedMs / 1_000, { atMost: 10 }, 's');
    tellFigure(`away ${awayS} s: overtaken by at most`, behind, { atMost: 64 * workers }, 'places');
  });

test('an endpoint that answers once and fails again costs one attempt, and the others stay on their schedule', async (t) => {
  const { clock, webhookId, answers, receiver, eventIds, emit } = await startAway(t, 90_000);
  const before = { tried: await attemptsByEvent(webhookId), schedule: await scheduleOf(webhookId) };
  const notDue = [...before.schedule].filter(([, due]) => due > clock.now().getTime());
  const early = async () => {
    const schedule = await scheduleOf(webhookId);
    return notDue.filter(([eventId, due]) => schedule.get(eventId) !== due);
  };
  for (let blip = 0; blip < 4; blip += 1) {
    answers.successes = 1;
    await emit(1);
    await waitFor(async () => (await attemptsByEvent(webhookId)).size === eventIds.length);
    await isQuiet(receiver);
  }
  await waitFor(async () => (await early()).length > 0);
  await isQuiet(receiver);
  const tried = await attemptsByEvent(webhookId);
  const extra = await early();
  assert.ok(extra.length <= 4, `${extra.length} of ${notDue.length} were tried`);
  for (const [eventId] of extra)
    assert.equal(tried.get(eventId)!.length, before.tried.get(eventId)!.length + 1);
});

test('an endpoint that sent Retry-After is not tried before that time is over', async (t) => {
  const asking: string[] = [];
  const retryAfter = (eventId: string) => {
    if (asking.length < 5 && !asking.includes(eventId)) asking.push(eventId);
    return asking.includes(eventId) ? '600' : null;
  };
  const { clock, webhookId, answers, receiver, emit } = await startAway(t, 20_000, { retryAfter });
  answers.successes = Number.POSITIVE_INFINITY;
  await emit(1);
  const left = async () => [...(await scheduleOf(webhookId)).keys()].toSorted();
  for (let i = 0; i < 60 && (await left()).length > asking.length; i += 1) {
    await isQuiet(receiver);
    await advance(clock, 1_000);
  }
  assert.deepEqual(await left(), asking.toSorted());
  await advance(clock, 600_000);
  await waitFor(() => isDone(webhookId));
});
