import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SendUnavailable } from '@posthorn/core/network/driver.ts';
import { waitFor } from '../support/process.ts';
import { SOON_MS, startQueue } from './table-queue.ts';

const notTaken = () => new SendUnavailable('the session ended');

test('a task that is read after a send failed waits until that one is repeated', async (t) => {
  const { queue, accept, sent, onSend, onRead, isIdleAt } = await startQueue(t);
  const first = Promise.withResolvers<void>();
  const reading = Promise.withResolvers<void>();
  const read = Promise.withResolvers<void>();
  onSend((seq) => (seq === 1 && sent.length === 1 ? first.promise : undefined));
  accept(1);
  queue.wake();
  await waitFor(() => sent.length === 1, SOON_MS);
  onRead(() => {
    reading.resolve();
    return read.promise;
  });
  accept(2);
  queue.wake();
  await reading.promise;
  first.reject(notTaken());
  await new Promise(setImmediate);
  read.resolve();
  await isIdleAt(2);
  assert.deepEqual(sent, [1, 1, 2]);
});

test('a new session gets nothing before the sends of the one before it have failed and are repeated', async (t) => {
  const { queue, accept, sent, session, onSend, onRead, isIdleAt } = await startQueue(t);
  const first = Promise.withResolvers<void>();
  const reading = Promise.withResolvers<void>();
  const read = Promise.withResolvers<void>();
  onSend((seq) => (seq === 1 && sent.length === 1 ? first.promise : undefined));
  accept(1);
  queue.wake();
  await waitFor(() => sent.length === 1, SOON_MS);
  onRead(() => {
    reading.resolve();
    return read.promise;
  });
  accept(2);
  queue.wake();
  await reading.promise;
  queue.detach();
  queue.attach({ ...session });
  read.resolve();
  // A task that was sent along would be there by now.
  for (let turn = 0; turn < 20; turn += 1) await new Promise(setImmediate);
  assert.deepEqual(sent, [1]);
  first.reject(notTaken());
  await isIdleAt(2);
  assert.deepEqual(sent, [1, 1, 2]);
});
