import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { DEFAULT_SETTINGS } from '@posthorn/core/instances/settings.ts';
import type { NetworkSession } from '@posthorn/core/network/driver.ts';
import { newId } from '@posthorn/core/platform/ids.ts';
import { systemClock } from '@posthorn/core/platform/process/clock.ts';
import { createLog } from '@posthorn/core/platform/process/log.ts';
import { PENDING_PAGE, type PendingTask } from '@posthorn/core/sending/load-pending.ts';
import type { PendingPage } from '@posthorn/core/sending/local-queues.ts';
import { type InstanceQueue, startInstanceQueue } from '@posthorn/worker/dispatch/instance-queue.ts';
import type { InstanceQueueDeps, InstanceQueueOptions } from '@posthorn/worker/dispatch/queue-context.ts';
import { waitFor } from '../support/process.ts';

export const SOON_MS = 30_000;

/** An instance queue on a table and a network in memory. */
export interface TestQueue {
  queue: InstanceQueue;
  /** The waiting tasks: a task leaves the table when its end is recorded. */
  table: Map<number, PendingTask>;
  /** Seqs in the order in which the network received them. */
  sent: number[];
  /** How often the table was read. */
  reads(): number;
  /** Runs at the network before it answers a send. */
  onSend(handler: (seq: number) => Promise<void> | void): void;
  /** From now on, reads of the table wait for this before they answer. */
  onRead(handler: () => Promise<void> | void): void;
  session: NetworkSession;
  /** Accepts these tasks into the table. */
  accept(...seqs: number[]): PendingTask[];
  page(afterSeq: number, tasks: PendingTask[], knownAtMs?: number): PendingPage;
  isIdleAt(seq: number): Promise<unknown>;
}

export async function startQueue(
  t: { after(done: () => unknown): void },
  options: Partial<InstanceQueueOptions> = {},
): Promise<TestQueue> {
  const table = new Map<number, PendingTask>();
  const sent: number[] = [];
  let reads = 0;
  let onSend: (seq: number) => Promise<void> | void = () => undefined;
  let onRead: () => Promise<void> | void = () => undefined;
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
  const idle = { idle: async () => undefined, size: () => 0, waitMs: () => 0 };
  const deps: InstanceQueueDeps = {
    clock: systemClock,
    log: createLog({ level: 'silent', role: 'test' }),
    media: { prepare: async () => assert.fail('no media here') },
    random: () => 0,
    attempts: { begin: async () => undefined, end: async () => undefined, hasBegunInVain: () => false },
    noteTyping: async () => undefined,
    isGone: async () => false,
    addressOf: async (_, jid) => jid,
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
        await onRead();
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
    ...options,
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
    onRead(handler) {
      onRead = handler;
    },
    accept(...seqs) {
      const tasks = seqs.map(taskOf);
      for (const task of tasks) table.set(task.seq, task);
      return tasks;
    },
    // By default the page never gets too old, however slow the machine is.
    page: (afterSeq, tasks, knownAtMs = Number.POSITIVE_INFINITY) => ({ afterSeq, tasks, knownAtMs }),
  };
}

export function taskOf(seq: number): PendingTask {
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
