import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  afterAttach,
  afterAttempt,
  afterDetach,
  afterInterruption,
  afterPrepare,
  afterRest,
  afterTask,
  afterWake,
  hasWork,
  idleAt,
  lateMs,
  newProgress,
  onIdle,
  onPrepare,
  onRead,
  type QueueProgress,
} from '@posthorn/worker/dispatch/queue-progress.ts';

/** Connected at 0, everything up to 7 handled, nothing to do since 100. */
const AT_REST: QueueProgress = onIdle(
  afterTask(afterAttempt(onRead(afterAttach(newProgress(0), 0)), 100), 7),
);
/** The same after a wake for more work at 1000. */
const WOKEN = afterWake(AT_REST, 9, 1_000);

const prepared = (fromMs: number, toMs: number) => afterPrepare(onPrepare(WOKEN, fromMs), toMs);

test('a queue reports its progress for each of its states', () => {
  const table: [
    name: string,
    state: QueueProgress,
    hasWork: boolean,
    idleAt: number | null,
    lateMs: number,
  ][] = [
    ['new, without a session', newProgress(4_000), false, null, 1_000],
    ['just connected', afterAttach(newProgress(0), 4_000), true, null, 1_000],
    ['at rest', AT_REST, false, 7, 0],
    ['woken', WOKEN, true, null, 4_000],
    ['woken and going on', afterRest(WOKEN, 4_000), true, null, 4_000],
    ['reading', onRead(afterRest(WOKEN, 4_000)), false, null, 4_000],
    ['preparing a task, which takes as long as it takes', onPrepare(WOKEN, 1_000), true, null, 0],
    ['handing it over at once', prepared(1_500, 1_500), true, null, 4_000],
    ['handing it over after a while, which does not count', prepared(1_500, 4_500), true, null, 1_000],
    ['preparing another one still', onPrepare(prepared(1_500, 4_500), 4_600), true, null, 0],
    ['one of two is ready', afterPrepare(onPrepare(onPrepare(WOKEN, 1_000), 2_000), 3_000), true, null, 0],
    ['one task further', afterAttempt(prepared(1_000, 1_000), 4_500), true, null, 500],
    ['interrupted', afterInterruption(onRead(afterRest(WOKEN, 4_000))), true, null, 4_000],
    ['at rest without a session', afterDetach(AT_REST), false, null, 0],
    ['woken without a session', afterDetach(WOKEN), false, null, 4_000],
  ];
  for (const [name, state, expectedWork, expectedIdle, expectedLate] of table)
    assert.deepEqual(
      [hasWork(state, false), idleAt(state), lateMs(state, 5_000)],
      [expectedWork, expectedIdle, expectedLate],
      name,
    );
});

test('a wake for handled tasks changes nothing; one for newer tasks, or for unnamed ones, does', () => {
  assert.equal(afterWake(AT_REST, 7, 1_000), AT_REST);
  assert.equal(afterWake(AT_REST, 3, 1_000), AT_REST);
  for (const upToSeq of [8, undefined]) assert.equal(afterWake(AT_REST, upToSeq, 1_000).mayHaveWork, true);
});

test('time at rest does not count as late, but time in which work waits does', () => {
  assert.equal(lateMs(WOKEN, 1_000), 0);
  assert.equal(lateMs(afterWake(WOKEN, 12, 3_000), 3_000), 2_000, 'a second wake is no progress');
  assert.equal(lateMs(afterRest(AT_REST, 3_000), 3_000), 0, 'it looked by itself');
});

test('a deferred task that is due is work, but only with a session', () => {
  assert.equal(hasWork(AT_REST, true), true);
  assert.equal(hasWork(afterDetach(AT_REST), true), false);
});
