import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { PendingTask } from '@posthorn/core/sending/load-pending.ts';
import type { TaskOutcome } from '@posthorn/worker/dispatch/send-task.ts';
import { afterOutcome, afterRecordFailure, createTaskBook } from '@posthorn/worker/dispatch/task-book.ts';

const NOW = new Date('2026-01-01T00:10:00Z');
const DEFERRAL = { expiresMs: 60_000, retryMs: 5_000 };

function task(taskId: string): PendingTask {
  return { taskId, messageId: taskId, operation: 'text' } as PendingTask;
}

const until = (untilMs: number) => ({ untilMs, sinceMs: 0, reason: 'rate_limited' });

test('the outcome of an attempt decides what becomes of its task', () => {
  const sent: TaskOutcome = { to: 'sent', at: NOW };
  const failed: TaskOutcome = { to: 'failed', at: NOW, reason: 'refused', wireState: 'not_sent' };
  const deferred: TaskOutcome = { to: 'deferred', reason: 'forward_unavailable' };
  const longAgo = NOW.getTime() - 60_000;
  const table: [name: string, outcome: TaskOutcome, deferredSinceMs: number, expected: unknown][] = [
    ['cancelled meanwhile: nothing', { to: 'cancelled' }, NOW.getTime(), null],
    ['sent', sent, longAgo, { end: sent }],
    ['failed', failed, NOW.getTime(), { end: failed }],
    ['not now: later', deferred, longAgo + 1, { retryAtMs: NOW.getTime() + 5_000 }],
    [
      'not now, for too long: failed',
      deferred,
      longAgo,
      { end: { to: 'failed', at: NOW, reason: 'forward_unavailable', wireState: 'not_sent' } },
    ],
  ];
  for (const [name, outcome, deferredSinceMs, expected] of table)
    assert.deepEqual(afterOutcome({ deferredSinceMs }, outcome, NOW, DEFERRAL), expected, name);
});

test('an end that could not be recorded is tried again, given up or left to the next owner', () => {
  const none = { isStopping: false, isLeaseLost: false, isUnavailable: false };
  const table: [failure: Partial<typeof none>, refusals: number, expected: object][] = [
    [{}, 0, { to: 'retry', refusals: 1 }],
    [{}, 8, { to: 'retry', refusals: 9 }],
    [{}, 9, { to: 'give_up' }],
    [{ isUnavailable: true }, 9, { to: 'retry', refusals: 9 }],
    [{ isLeaseLost: true }, 0, { to: 'release' }],
    [{ isStopping: true, isLeaseLost: true }, 0, { to: 'leave' }],
    [{ isStopping: true, isUnavailable: true }, 0, { to: 'leave' }],
  ];
  for (const [failure, refusals, expected] of table)
    assert.deepEqual(afterRecordFailure({ ...none, ...failure }, refusals), expected);
});

test('a task that was cancelled is not begun, and one that was begun is not cancelled', () => {
  const book = createTaskBook();
  assert.equal(book.begin('begun'), true);
  book.end('ended');
  const tasks = ['begun', 'ended', 'waiting'].map((id) => task(id));
  const { underWay, cancelled } = book.cancel(tasks);
  assert.deepEqual(
    [underWay, cancelled].map((list) => list.map(({ taskId }) => taskId)),
    [['begun', 'ended'], ['waiting']],
  );
  assert.deepEqual([book.begin('waiting'), book.isCancelled('waiting')], [false, true]);
});

test('a task can be cancelled again when its attempt came to nothing, was deferred, or its end is settled', () => {
  for (const leave of ['abandon', 'settle'] as const) {
    const book = createTaskBook();
    book.begin('a');
    book[leave]('a');
    assert.equal(book.cancel([task('a')]).cancelled.length, 1, leave);
  }
  const book = createTaskBook();
  book.begin('a');
  book.defer(task('a'), until(100));
  assert.equal(book.cancel([task('a')]).cancelled.length, 1);
  assert.equal(book.hasDeferred(), false, 'and is not tried again');
});

test('a task that the network may have taken is not cancelled, unless it must not be sent again, until its end is known', () => {
  const book = createTaskBook();
  book.begin('a');
  book.doubt('a');
  book.abandon('a');
  assert.deepEqual([book.cancel([task('a')]).cancelled, book.isInDoubt('a')], [[], true]);
  assert.equal(book.begin('a'), true, 'and is sent again');
  book.abandon('a');
  assert.equal(book.cancel([task('a')], { doubted: true }).cancelled.length, 1);
  book.end('a');
  assert.equal(book.isInDoubt('a'), false);
});

test('deferred tasks come up when they are due, in their order, until they end', () => {
  const book = createTaskBook();
  book.defer(task('a'), until(100));
  book.defer(task('b'), until(200));
  book.defer(task('c'), until(100));
  const dueAt = (ms: number) => book.due(ms).map(({ taskId }) => taskId);
  assert.deepEqual([dueAt(99), dueAt(100), dueAt(200)], [[], ['a', 'c'], ['a', 'b', 'c']]);
  book.end('a');
  assert.deepEqual(dueAt(200), ['b', 'c']);
});

test('a cancelled task is forgotten when that is recorded, and not before', () => {
  const book = createTaskBook();
  book.cancel([task('recorded'), task('unrecorded')]);
  book.cancelRecorded('recorded');
  book.forgetCancelled();
  assert.deepEqual([book.isCancelled('recorded'), book.isCancelled('unrecorded')], [false, true]);
});

test('a task waits for the earlier ones of its chat alone, until they are taken, ended or cancelled', () => {
  const inChat = (taskId: string, chatJid: string, seq: number, more: Partial<PendingTask> = {}) =>
    ({ ...task(taskId), chatJid, seq, ...more }) as PendingTask;
  const leave: [string, (book: ReturnType<typeof createTaskBook>) => void][] = [
    ['due', (book) => void book.takeDue(100, () => true)],
    ['ended', (book) => book.end('first')],
    ['cancelled', (book) => void book.cancel([task('first')])],
  ];
  for (const [name, go] of leave) {
    const book = createTaskBook();
    book.defer(inChat('first', 'ana', 5), until(100));
    const later = inChat('later', 'ana', 6);
    assert.deepEqual(book.earlierOf(later), until(100), name);
    assert.equal(book.earlierOf(inChat('before', 'ana', 4)), null, 'an earlier one waits for none');
    assert.equal(book.earlierOf(inChat('same', 'ana', 5)), null, 'nor does the task itself');
    assert.equal(book.earlierOf(inChat('elsewhere', 'ben', 6)), null, 'nor another chat');
    go(book);
    assert.equal(book.earlierOf(later), null, name);
  }
  const book = createTaskBook();
  book.defer(inChat('awaited', 'ana', 1, { awaitedSinceMs: 1 }), until(100));
  assert.equal(
    book.earlierOf(inChat('later', 'ana', 6)),
    null,
    'one that the network may have taken is passed',
  );
  book.defer(inChat('second', 'ana', 2), until(200));
  book.defer(inChat('third', 'ana', 3), until(150));
  assert.equal(book.earlierOf(inChat('later', 'ana', 6))?.untilMs, 200);
  book.defer(inChat('second', 'ana', 2), until(300));
  assert.equal(book.earlierOf(inChat('later', 'ana', 6))?.untilMs, 300, 'deferred again');
});

test('asking for earlier tasks of a chat does not walk those of the others', () => {
  const book = createTaskBook();
  let reads = 0;
  for (let at = 0; at < 5_000; at += 1) {
    const other = { ...task(`task ${at}`), seq: at } as PendingTask;
    Object.defineProperty(other, 'seq', { get: () => (reads += 1) });
    Object.defineProperty(other, 'chatJid', { value: `chat ${at}` });
    book.defer(other, until(100));
  }
  const mine = { ...task('mine'), chatJid: 'chat 4999', seq: 10_000 } as PendingTask;
  assert.deepEqual(book.earlierOf(mine), until(100));
  assert.equal(reads, 1);
});
