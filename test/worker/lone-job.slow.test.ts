import assert from 'node:assert/strict';
import { after, before, beforeEach, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { createDb, type Db } from '@posthorn/core/platform/database/db.ts';
import { createLoneJob, type LoneJob } from '@posthorn/worker/lone-job.ts';
import { createParts, type Parts } from '../support/parts.ts';
import { waitFor } from '../support/process.ts';

const LOCK = 7_071_999;
const EVERY_MS = 3_600_000;
const LOOK_EVERY_MS = 10_000;

let parts: Parts;
before(async () => {
  parts = await createParts();
});
after(() => parts.close());
beforeEach(() => parts.db.query('DELETE FROM lone_jobs'));

/** A round that only counts its runs. */
function counting() {
  const counted = { rounds: 0, round };
  async function round(): Promise<void> {
    counted.rounds += 1;
  }
  return counted;
}

/** The job as in another process, with its own connections. */
function jobIn(db: Db, round: (signal: AbortSignal) => Promise<unknown>): LoneJob<unknown> {
  return createLoneJob({ ...parts, db }, { name: 'the test', lock: LOCK, everyMs: EVERY_MS, round });
}

/** Lets each loop look, as often as it does by itself. */
async function pass(ms: number): Promise<void> {
  for (let passed = 0; passed < ms; passed += LOOK_EVERY_MS) {
    parts.clock.advance(LOOK_EVERY_MS);
    await delay(5);
  }
}

test('one of several processes runs the round, once in its time, and says where', async (t) => {
  const counted = counting();
  const jobs = [1, 2, 3].map(() => jobIn(parts.db, counted.round));
  for (const job of jobs) {
    job.start();
    t.after(() => job.stop());
  }
  await waitFor(() => counted.rounds > 0);
  await pass(EVERY_MS - LOOK_EVERY_MS);
  assert.equal(counted.rounds, 1);
  await pass(2 * LOOK_EVERY_MS);
  await waitFor(() => counted.rounds > 1);
  await pass(EVERY_MS / 2);
  assert.equal(counted.rounds, 2);
  const { rows } = await parts.db.query('SELECT worker, finished_at IS NOT NULL AS over FROM lone_jobs');
  assert.equal(rows.length, 1);
  assert.match((rows[0] as { worker: string }).worker, new RegExp(` ${process.pid}$`));
  assert.equal((rows[0] as { over: boolean }).over, true);
});

test('the round of a process that died is run by another one at its next look', async (t) => {
  const dying = createDb({ url: parts.url, poolSize: 4, log: parts.log, name: 'dying' });
  const begun = Promise.withResolvers<void>();
  const ended = Promise.withResolvers<void>();
  const first = jobIn(dying, () => {
    begun.resolve();
    return ended.promise;
  });
  t.after(async () => {
    ended.resolve();
    await first.stop();
    await dying.close();
  });
  first.start();
  await begun.promise;
  const counted = counting();
  const second = jobIn(parts.db, counted.round);
  second.start();
  t.after(() => second.stop());
  await pass(3 * LOOK_EVERY_MS);
  assert.equal(counted.rounds, 0, 'it runs in one process at a time');
  await parts.db.query(
    `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
     WHERE datname = current_database() AND application_name = 'dying'`,
  );
  await waitFor(async () => {
    await pass(LOOK_EVERY_MS);
    return counted.rounds === 1;
  });
});

test('a round that was stopped continues in another process', async (t) => {
  const begun = Promise.withResolvers<void>();
  const first = jobIn(parts.db, async (signal) => {
    begun.resolve();
    await new Promise((resolve) => signal.addEventListener('abort', resolve));
  });
  first.start();
  await begun.promise;
  await first.stop();
  const counted = counting();
  const second = jobIn(parts.db, counted.round);
  second.start();
  t.after(() => second.stop());
  await waitFor(() => counted.rounds === 1);
});

test('a round that failed is run again at its next time, and not at each look', async (t) => {
  let rounds = 0;
  const job = jobIn(parts.db, async () => {
    rounds += 1;
    throw new Error('it fails');
  });
  job.start();
  t.after(() => job.stop());
  await waitFor(() => rounds === 1);
  await pass(EVERY_MS / 2);
  assert.equal(rounds, 1);
  await pass(EVERY_MS / 2 + LOOK_EVERY_MS);
  await waitFor(() => rounds === 2);
});

test('a round that was noted by a clock far ahead is run again, and not only when that time has come', async (t) => {
  const counted = counting();
  const job = jobIn(parts.db, counted.round);
  job.start();
  t.after(() => job.stop());
  await waitFor(() => counted.rounds === 1);
  await parts.db.query(`UPDATE lone_jobs SET finished_at = finished_at + interval '300 days'`);
  await pass(2 * LOOK_EVERY_MS);
  await waitFor(() => counted.rounds === 2);
  await pass(2 * LOOK_EVERY_MS);
  assert.equal(counted.rounds, 2);
});
