import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { SendDeferred } from '@posthorn/core/network/driver.ts';
import type { PendingTask } from '@posthorn/core/sending/load-pending.ts';
import { createLanes } from '@posthorn/worker/dispatch/lanes.ts';
import { waitFor } from '../support/process.ts';
import { SOON_MS, startQueue, type TestQueue, taskOf } from './table-queue.ts';

test('lanes keep order within a chat, work on so many chats at a time, and a chat with much to do delays no other', async () => {
  const lanes = createLanes(2);
  const done: string[] = [];
  const underWay = new Set<string>();
  let most = 0;
  const push = (chat: string, nth: number) =>
    lanes.push(chat, async () => {
      assert.ok(!underWay.has(chat), 'one at a time in a chat');
      underWay.add(chat);
      most = Math.max(most, underWay.size);
      await new Promise((resolve) => setTimeout(resolve, 2));
      underWay.delete(chat);
      done.push(`${chat}${nth}`);
    });
  for (let nth = 1; nth <= 10; nth += 1) push('a', nth);
  for (const chat of ['b', 'c']) for (const nth of [1, 2]) push(chat, nth);
  assert.equal(lanes.size, 14);
  while (lanes.size > 0) await lanes.progress();
  assert.equal(most, 2);
  for (const chat of ['a', 'b', 'c']) {
    const own = done.filter((each) => each.startsWith(chat)).map((each) => Number(each.slice(1)));
    assert.deepEqual(
      own,
      own.toSorted((one, other) => one - other),
    );
  }
  assert.ok(done.indexOf('c2') < done.indexOf('a6'), done.join(' '));
  await lanes.progress();
});

describe('a queue that keeps order by chat', () => {
  const [ANA, BEN, EVA] = ['1', '2', '3'].map((nth) => `551199999000${nth}@s.whatsapp.net`);

  /** Puts a text to this chat into the table. */
  function put(
    { table }: TestQueue,
    seq: number,
    chatJid: string | undefined,
    more: Partial<PendingTask> = {},
  ) {
    const task = { ...taskOf(seq), chatJid: chatJid!, ...more };
    table.set(seq, task);
    return task;
  }

  /** A text that is being typed for five minutes at least. */
  function putTyped(queue: TestQueue, seq: number, chatJid: string | undefined) {
    const { settings } = taskOf(seq);
    const content = { text: String(seq).padEnd(3_000) };
    return put(queue, seq, chatJid, { content, settings: { ...settings, humanize_enabled: true } });
  }

  const TYPING = { order: 'chat', typingMaxMs: Number.POSITIVE_INFINITY } as const;

  test('sends what the network has deferred when that is due, while a text is being typed in another chat', async (t) => {
    const queue = await startQueue(t, TYPING);
    const { sent, onSend } = queue;
    onSend(() => {
      if (sent.length === 1) throw new SendDeferred('rate_limited', { of: 'chat', forMs: 20 });
    });
    putTyped(queue, 1, ANA);
    put(queue, 2, BEN);
    queue.queue.wake();
    await waitFor(() => sent.length === 2, SOON_MS);
    assert.deepEqual(sent, [2, 2]);
  });

  test('goes on after an interruption before the texts are typed that others have to wait for', async (t) => {
    const queue = await startQueue(t, TYPING);
    const { sent, onRead, session } = queue;
    const typing = Promise.withResolvers<void>();
    session.typing = async () => typing.resolve();
    putTyped(queue, 1, ANA);
    queue.queue.wake();
    await typing.promise;
    let failures = 0;
    onRead(() => {
      failures += 1;
      if (failures === 1) throw Object.assign(new Error('away'), { code: 'ECONNRESET' });
    });
    put(queue, 2, BEN);
    queue.queue.wake(2);
    await waitFor(() => sent.length === 1, SOON_MS);
    assert.deepEqual(sent, [2]);
  });

  test('goes on when it is connected again, whatever was being typed when the connection was lost', async (t) => {
    const queue = await startQueue(t, TYPING);
    const { sent, session } = queue;
    const typing = Promise.withResolvers<void>();
    session.typing = async () => typing.resolve();
    putTyped(queue, 1, ANA);
    queue.queue.wake();
    await typing.promise;
    queue.queue.detach();
    put(queue, 2, BEN);
    queue.queue.wake(2);
    await new Promise(setImmediate);
    queue.queue.attach(session);
    await waitFor(() => sent.length === 1, SOON_MS);
    assert.deepEqual(sent, [2]);
  });

  test('is not late while a text is being typed, whatever else it has sent meanwhile', async (t) => {
    const queue = await startQueue(t, TYPING);
    putTyped(queue, 1, ANA);
    put(queue, 2, BEN);
    queue.queue.wake();
    await waitFor(() => queue.table.size === 1, SOON_MS);
    const sinceMs = performance.now();
    await waitFor(() => performance.now() > sinceMs + 5);
    assert.equal(queue.queue.lateMs(), 0);
  });

  test('lets no message overtake one that is due again, however many chats are served before', async (t) => {
    const queue = await startQueue(t, { order: 'chat', window: 1 });
    const { sent, onSend } = queue;
    const [underWay, ended] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    onSend(async (seq) => {
      if (sent.length === 1) throw new SendDeferred('rate_limited', { of: 'chat', forMs: 20 });
      if (seq !== 3) return;
      underWay.resolve();
      await ended.promise;
    });
    put(queue, 1, ANA);
    put(queue, 2, ANA);
    put(queue, 3, BEN);
    queue.queue.wake();
    await underWay.promise;
    const sinceMs = Date.now();
    await waitFor(() => Date.now() > sinceMs + 30);
    put(queue, 4, EVA);
    queue.queue.wake(4);
    await waitFor(() => queue.reads() > 1, SOON_MS);
    ended.resolve();
    await waitFor(() => queue.table.size === 0, SOON_MS);
    assert.deepEqual(
      sent.filter((seq) => seq < 3),
      [1, 1, 2],
    );
  });

  test('tries a message again that waited long for its turn, and those behind it', async (t) => {
    const queue = await startQueue(t, { order: 'chat' });
    const { sent, onSend } = queue;
    onSend(() => {
      if (sent.length === 1) throw new SendDeferred('rate_limited', { of: 'chat', forMs: 20 });
    });
    const createdAt = new Date(Date.now() - 3_600_000);
    put(queue, 1, ANA, { createdAt });
    put(queue, 2, ANA, { createdAt });
    queue.queue.wake();
    await waitFor(() => queue.table.size === 0, SOON_MS);
    assert.deepEqual(sent, [1, 1, 2]);
  });

  test('types a text once, however often the network defers it', async (t) => {
    const queue = await startQueue(t, TYPING);
    const { sent, onSend, session } = queue;
    let typed = 0;
    session.typing = async () => {
      typed += 1;
    };
    onSend(() => {
      if (sent.length < 3) throw new SendDeferred('rate_limited', { of: 'chat', forMs: 20 });
    });
    const { settings } = taskOf(1);
    put(queue, 1, ANA, { settings: { ...settings, humanize_enabled: true } });
    queue.queue.wake();
    await waitFor(() => queue.table.size === 0, SOON_MS);
    assert.deepEqual([sent, typed], [[1, 1, 1], 1]);
  });

  test('sends nothing that was cancelled while it waited for its chat, also when more was read since', async (t) => {
    const queue = await startQueue(t, { order: 'chat', window: 1 });
    const { sent, onSend, reads } = queue;
    const [underWay, ended] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    onSend(async (seq) => {
      if (seq !== 1) return;
      underWay.resolve();
      await ended.promise;
    });
    put(queue, 1, ANA);
    const cancelled = put(queue, 2, ANA);
    queue.queue.wake();
    await underWay.promise;
    assert.deepEqual((await queue.queue.cancel([cancelled])).cancelled, [cancelled.taskId]);
    put(queue, 3, BEN);
    queue.queue.wake(3);
    await waitFor(() => reads() > 1, SOON_MS);
    ended.resolve();
    await waitFor(() => queue.table.size === 0, SOON_MS);
    assert.deepEqual(sent.toSorted(), [1, 3]);
  });

  test('keeps the pause between any two sends', async (t) => {
    const MIN_MS = 60;
    const queue = await startQueue(t, { order: 'chat', pacingMinMs: MIN_MS });
    const times: number[] = [];
    queue.onSend(() => void times.push(Date.now()));
    for (const [nth, chat] of [ANA, BEN, EVA].entries()) put(queue, nth + 1, chat);
    queue.queue.wake();
    await waitFor(() => times.length === 3, SOON_MS);
    // Timers may fire a millisecond early.
    for (const nth of [1, 2]) assert.ok(times[nth]! - times[nth - 1]! >= MIN_MS - 2, times.join(' '));
  });
});
