import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SendDeferred } from '@posthorn/core/network/driver.ts';
import { PENDING_PAGE } from '@posthorn/core/sending/load-pending.ts';
import { waitFor } from '../support/process.ts';
import { SOON_MS, startQueue, taskOf } from './table-queue.ts';

test('tasks that the acceptor hands over are sent in its order and without a read', async (t) => {
  const { queue, accept, page, sent, reads, isIdleAt } = await startQueue(t);
  queue.wakeWith(page(0, accept(3, 5)));
  await isIdleAt(5);
  queue.wakeWith(page(5, accept(6)));
  await isIdleAt(6);
  assert.deepEqual(sent, [3, 5, 6]);
  assert.equal(reads(), 0);
});

test('more than a page of the table holds is sent too', async (t) => {
  const { queue, accept, page, sent, isIdleAt } = await startQueue(t);
  const full = Array.from({ length: PENDING_PAGE }, (_, i) => i + 1);
  const more = Array.from({ length: 2 * PENDING_PAGE - 1 }, (_, i) => full.length + i + 1);
  queue.wakeWith(page(0, accept(...full)));
  await isIdleAt(full.length);
  queue.wakeWith(page(full.length, accept(...more)));
  await isIdleAt(full.length + more.length);
  assert.deepEqual(sent, [...full, ...more]);
});

test('a second wake before the first one is read leaves nothing behind', async (t) => {
  for (const second of ['wake', 'wake up to', 'another page'] as const) {
    const { queue, accept, page, sent, isIdleAt } = await startQueue(t);
    queue.wakeWith(page(0, accept(1)));
    const tasks = accept(2);
    if (second === 'wake') queue.wake();
    else if (second === 'wake up to') queue.wake(2);
    else queue.wakeWith(page(1, tasks));
    await isIdleAt(2);
    assert.deepEqual(sent, [1, 2], second);
  }
});

test('a page that comes while the table is being read leaves nothing behind, nor sends twice', async (t) => {
  const { queue, accept, page, sent, isIdleAt } = await startQueue(t);
  accept(1);
  queue.wake();
  await waitFor(() => sent.length === 1 || queue.idleAt() === null, SOON_MS);
  queue.wakeWith(page(0, accept(2)));
  await isIdleAt(2);
  assert.deepEqual(sent, [1, 2]);
});

test('a page of which some was handled meanwhile sends the rest', async (t) => {
  const { queue, accept, page, sent, isIdleAt } = await startQueue(t);
  const tasks = accept(1, 2, 3);
  queue.wakeWith(page(0, tasks.slice(0, 2)));
  await isIdleAt(2);
  queue.wakeWith(page(0, tasks));
  await isIdleAt(3);
  assert.deepEqual(sent, [1, 2, 3]);
});

test('a page that leaves out unhandled tasks is not used', async (t) => {
  const { queue, accept, page, sent, reads, isIdleAt } = await startQueue(t);
  accept(4);
  queue.wakeWith(page(4, accept(5)));
  await isIdleAt(5);
  assert.deepEqual(sent, [4, 5]);
  assert.ok(reads() > 0);
});

test('a page that was made too long ago is not used: the table is read', async (t) => {
  const { queue, page, sent, reads, isIdleAt } = await startQueue(t);
  // Its company was suspended since, or another worker has sent it: the table is empty.
  queue.wakeWith(page(0, [taskOf(1)], performance.now() - 1_000));
  await waitFor(() => reads() > 0, SOON_MS);
  await isIdleAt(0);
  assert.deepEqual(sent, []);
});

test('a page from before a detach is not used', async (t) => {
  const { queue, page, session, sent, reads, isIdleAt } = await startQueue(t);
  queue.wakeWith(page(0, [taskOf(1)]));
  queue.detach();
  assert.equal(queue.idleAt(), null);
  queue.wakeWith(page(0, [taskOf(2)]));
  queue.attach(session);
  await waitFor(() => reads() > 0, SOON_MS);
  await isIdleAt(0);
  assert.deepEqual(sent, []);
});

test('a task that is cancelled before its page is read is not sent', async (t) => {
  const { queue, accept, page, sent, onSend, isIdleAt } = await startQueue(t);
  const answer = Promise.withResolvers<void>();
  const again = Promise.withResolvers<void>();
  onSend(async (seq) => {
    if (seq !== 1) return;
    if (sent.length === 1) throw new SendDeferred('not_now');
    again.resolve();
    await answer.promise;
  });
  queue.wakeWith(page(0, accept(1)));
  await again.promise;
  const [cancelled, kept] = accept(2, 3);
  queue.wakeWith(page(1, [cancelled!, kept!]));
  assert.deepEqual((await queue.cancel([cancelled!])).cancelled, [cancelled!.taskId]);
  answer.resolve();
  await isIdleAt(3);
  assert.deepEqual(sent, [1, 1, 3]);
});
