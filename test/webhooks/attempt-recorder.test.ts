import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import type { Db } from '@posthorn/core/platform/database/db.ts';
import { createLog } from '@posthorn/core/platform/process/log.ts';
import { createAttemptRecorder } from '@posthorn/worker/webhooks/attempt-recorder.ts';
import { waitFor } from '../support/process.ts';
import { successOf } from './support.ts';

const MICROTASKS = 20;

const log = createLog({ level: 'silent', role: 'test' });

test('a result that comes in the very moment in which a write ends is written too', async () => {
  for (let after = 0; after < MICROTASKS; after += 1) {
    const written: number[] = [];
    let late: Promise<void> | null = null;
    const query = (config: { values: unknown[] }) => {
      // A statement for a single result: its columns, the delivery's id first.
      written.push(Number(config.values[0]));
      const done = Promise.resolve({ rows: [] });
      late ??= done.then(async () => {
        for (let i = 0; i < after; i += 1) await null;
        recorder.add(successOf(2));
      });
      return done;
    };
    const recorder = createAttemptRecorder({ db: { query } as unknown as Db, log });
    recorder.add(successOf(1));
    await delay(5);
    await late;
    await recorder.stop();
    assert.deepEqual(written, [1, 2], `${after} microtasks after the answer`);
  }
});

/**
 * Records how many rows each statement wrote: a small one has the ids among its values, a large one has them in one
 * text.
 */
function countingDb(failing: () => boolean) {
  const written: number[] = [];
  const query = async (config: { name: string; values: unknown[] }) => {
    if (failing()) throw new Error('away');
    const few = /-(\d+)$/.exec(config.name);
    written.push(few ? Number(few[1]) : (JSON.parse(config.values[0] as string) as unknown[]).length);
    return { rows: [] };
  };
  return { db: { query } as unknown as Db, total: () => written.reduce((sum, n) => sum + n, 0) };
}

test('results beyond the size of one statement are written without waiting for another result', async () => {
  const { db, total } = countingDb(() => false);
  const recorder = createAttemptRecorder({ db, log });
  for (let id = 1; id <= 700; id += 1) recorder.add(successOf(id));
  await waitFor(() => total() >= 700 && recorder.backlog() === 0);
  const before = { written: total(), waiting: recorder.backlog() };
  await recorder.stop();
  assert.deepEqual(before, { written: 700, waiting: 0 });
});

test('results that gathered while the database was away are written once it is back', async () => {
  let isAway = true;
  let failed = 0;
  const { db, total } = countingDb(() => {
    if (isAway) failed += 1;
    return isAway;
  });
  const recorder = createAttemptRecorder({ db, log });
  for (let id = 1; id <= 1024; id += 1) recorder.add(successOf(id));
  await waitFor(() => failed > 0);
  isAway = false;
  await waitFor(() => total() >= 1024 && recorder.backlog() === 0);
  const before = { written: total(), waiting: recorder.backlog() };
  await recorder.stop();
  assert.deepEqual(before, { written: 1024, waiting: 0 });
});
