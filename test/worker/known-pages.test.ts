import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import { DEFAULT_SETTINGS } from '@posthorn/core/instances/settings.ts';
import { type NetworkSession, SendDeferred } from '@posthorn/core/network/driver.ts';
import { newId } from '@posthorn/core/platform/ids.ts';
import { systemClock } from '@posthorn/core/platform/process/clock.ts';
import { createLog } from '@posthorn/core/platform/process/log.ts';
import { PENDING_PAGE, type PendingTask } from '@posthorn/core/sending/load-pending.ts';
import type { PendingPage } from '@posthorn/core/sending/local-queues.ts';
import { type InstanceQueue, startInstanceQueue } from '@posthorn/worker/dispatch/instance-queue.ts';
import type { InstanceQueueDeps } from '@posthorn/worker/dispatch/queue-context.ts';
import { waitFor } from '../support/process.ts';

const SOON_MS = 30_000;

/** An instance queue on a table and a network in memory. */
interface TestQueue {
  queue: InstanceQueue;
  /** What waits in the table: it leaves it when its end is recorded. */
  table: Map<number, PendingTask>;
  /** Seqs in the order in which the network got them. */
  sent: number[];
  /** How often the table was read. */
  reads(): number;
  /** What the network does before it answers. */
  onSend(handler: (seq: number) => Promise<void> | void): void;
  session: NetworkSession;
  /** Accepts these: they are in the table from now on. */
  accept(...seqs: number[]): PendingTask[];
  page(afterSeq: number, tasks: PendingTask[], knownAtMs?: number): PendingPage;
  isIdleAt(seq: number): Promise<unknown>;
}

async function startQueue(t: { after(done: () => unknown): void }): Promise<TestQueue> {
  const table = new Map<number, PendingTask>();
  const sent: number[] = [];
  let reads = 0;
  let onSend: (seq: number) => Promise<void> | void = () => undefined;
  const end = (fits: (task: PendingTask) => boolean) => {
    for (const [seq, task] of table) if (fits(task)) table.delete(seq);
  };
  const session = {
    async send({ content }: { content: { text: string } }) {
      const seq = Number(content.text);
      sent.push(seq);
      await onSend(seq);
      return { at: new Date() };
    },
    recorded: () => undefined,
    typing: async () => undefined,
  } as unknown as NetworkSession;
  const idle = { idle: async () => undefined, size: () => 0 };
  const deps: InstanceQueueDeps = {
    clock: systemClock,
    log: createLog({ level: 'silent', role: 'test' }),
    media: { prepare: async () => assert.fail('no media here') },
    random: () => 0,
    beginAttempt: async () => undefined,
    endAttempt: async () => undefined,
    noteTyping: async () => undefined,
    recordChange: async () => 'recorded',
    recorder: {
      ...idle,
      async push({ messageId }) {
        end((task) => task.messageId === messageId);
        return 'recorded';
      },
    },
    loader: {
      ...idle,
      async push({ afterSeq }) {
        reads += 1;
        const found = [...table.values()].filter(({ seq }) => seq > afterSeq);
        await new Promise(setImmediate);
        return found.toSorted((a, b) => a.seq - b.seq).slice(0, PENDING_PAGE);
      },
    },
    tries: { begin: async () => new Map(), open: async () => new Set(), end: async () => undefined },
    onLeaseLost: () => undefined,
    deferral: { expiresMs: 600_000, retryMs: 20 },
  };
  const queue = startInstanceQueue(deps, {
    instanceId: randomUUID(),
    companyId: 1,
    lease: { shard: 1, epoch: 1 },
    dedupes: true,
    window: 4,
    pacingMinMs: 0,
    typingMaxMs: 0,
  });
  t.after(() => queue.stop());
  queue.attach(session);
  const isIdleAt = (seq: number) =>
    waitFor(() => queue.idleAt() === seq, SOON_MS, { what: `idle at ${seq}` });
  await isIdleAt(0);
  reads = 0;
  return {
    queue,
    table,
    sent,
    session,
    isIdleAt,
    reads: () => reads,
    onSend(handler) {
      onSend = handler;
    },
    accept(...seqs) {
      const tasks = seqs.map(taskOf);
      for (const task of tasks) table.set(task.seq, task);
      return tasks;
    },
    // By default it does not grow old, however slow the machine is.
    page: (afterSeq, tasks, knownAtMs = Number.POSITIVE_INFINITY) => ({ afterSeq, tasks, knownAtMs }),
  };
}

function taskOf(seq: number): PendingTask {
  const id = newId();
  return {
    seq,
    taskId: id,
    operation: 'text',
    messageId: id,
    traceId: null,
    attempts: 0,
    type: 'text',
    chatJid: '5511999990001@s.whatsapp.net',
    content: { text: String(seq) },
    quotedId: null,
    mediaId: null,
    payload: null,
    companyId: 1,
    createdAt: new Date(),
    settings: { ...DEFAULT_SETTINGS, humanize_enabled: false },
  };
}

test('what the acceptor says is sent, in its order and without a read', async (t) => {
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

test('a page that begins behind what is handled is not believed', async (t) => {
  const { queue, accept, page, sent, reads, isIdleAt } = await startQueue(t);
  accept(4);
  queue.wakeWith(page(4, accept(5)));
  await isIdleAt(5);
  assert.deepEqual(sent, [4, 5]);
  assert.ok(reads() > 0);
});

test('a page that was made too long ago is not used: the table is read', async (t) => {
  const { queue, page, sent, reads, isIdleAt } = await startQueue(t);
  // Its company was suspended since, or another worker has sent it: the table has nothing.
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

test('what is cancelled before its page is read is not sent, also when that is recorded by then', async (t) => {
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
