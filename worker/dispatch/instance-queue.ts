import { LeaseLost } from '@posthorn/core/instances/lock-leases.ts';
import { ACCOUNT_CHANGED } from '@posthorn/core/messages/progress.ts';
import type { NetworkSession } from '@posthorn/core/network/driver.ts';
import { startLoop } from '@posthorn/core/platform/process/loop.ts';
import type { PendingPage } from '@posthorn/core/sending/local-queues.ts';
import { drainChats } from './drain-chats.ts';
import { drain, endOfCancelled, retryDeferred } from './drain-queue.ts';
import {
  createQueueContext,
  detach,
  type InstanceQueueDeps,
  type InstanceQueueOptions,
  type QueueContext,
  tellRecorded,
} from './queue-context.ts';
import * as progress from './queue-progress.ts';
import type { TaskRef } from './task-book.ts';

const RETRY_MS = 1_000;
/** look-for-work.ts wakes every queue; this is only a fallback. */
const IDLE_MS = 60_000;

/** The dispatch of one instance: its tasks in accept order (SND-32). */
export interface InstanceQueue {
  /** Work exists up to this seq; without a seq, look anyway. */
  wake(upToSeq?: number): void;
  /** If the queue was idle at the seq before this page, the page is all there is to do. */
  wakeWith(page: PendingPage): void;
  /** The last handled seq while the queue knows of no work; null while it is working or has no session. */
  idleAt(): number | null;
  /** How long it has known of work without making progress. Intended waits, such as typing, do not count. */
  lateMs(): number;
  /** Sends with a `seq` below `firstOwnSeq` were accepted for another account: none of them begins. Null: all are its own. */
  attach(session: NetworkSession, firstOwnSeq?: number | null): void;
  detach(): void;
  /**
   * Cancels waiting tasks: when this resolves they are recorded as failed, for this reason, and will never be sent.
   * `underWay` lists those the network has, is receiving, or may have taken without an answer; these end as
   * `outcome_unknown` when the reason is that the account changed. Rejects if some could not be recorded: they may
   * still be sent.
   */
  cancel(tasks: readonly TaskRef[], reason?: string): Promise<{ cancelled: string[]; underWay: string[] }>;
  /** Stops after the sends in progress; resolves when their outcomes are recorded. */
  stop(): Promise<void>;
}

/**
 * Reads pages of tasks above the last handled seq and hands them to the session. Accepts of one instance
 * commit in seq order, so no task ever appears below it.
 * Up to `window` sends are at the network at a time, and the outcome of one is recorded while the next are in
 * progress: after a crash they are sent again under the same network ids, and the network drops duplicates.
 * If the outcome of a send is unknown, it and all sends after it are repeated in order. Tasks that need
 * preparation (media, typing) wait until the network has answered the earlier ones. A task that the network
 * cannot take now is deferred, so it does not block others.
 * With `order: 'chat'` that holds for each chat alone (drain-chats.ts).
 */
export function startInstanceQueue(deps: InstanceQueueDeps, options: InstanceQueueOptions): InstanceQueue {
  const queue = createQueueContext(deps, options);
  const { stopping } = queue;
  const loop = startLoop({
    everyMs: () => (queue.book.hasDeferred() ? queue.deferral.retryMs : IDLE_MS),
    retryMs: RETRY_MS,
    run: () => work(queue),
    onError(err) {
      queue.state = progress.afterInterruption(queue.state);
      if (stopping.signal.aborted) return;
      if (err instanceof LeaseLost) queue.releaseShard();
      deps.log.warn({ err, instance_id: options.instanceId }, 'dispatch interrupted');
    },
  });

  function wake(upToSeq?: number): void {
    const before = queue.state;
    queue.state = progress.afterWake(before, upToSeq, performance.now());
    if (queue.state === before) return;
    // There may be more than the acceptor knew of.
    queue.page = null;
    queue.woken.resolve();
    loop.wake();
  }

  return {
    wake,
    wakeWith(page) {
      const known = queue.state.mayHaveWork ? null : page;
      wake();
      queue.page = known;
    },
    idleAt: () => progress.idleAt(queue.state),
    lateMs: () => progress.lateMs(queue.state, performance.now()),
    attach(session, firstOwnSeq = null) {
      queue.session = session;
      queue.attachedAtMs = deps.clock.now().getTime();
      queue.firstOwnSeq = firstOwnSeq;
      tellRecorded(queue);
      queue.page = null;
      queue.state = progress.afterAttach(queue.state, performance.now());
      loop.wake();
    },
    detach: () => detach(queue),
    cancel: (tasks, reason = 'cancelled') => cancel(queue, tasks, reason),
    async stop() {
      stopping.abort();
      queue.woken.resolve();
      await loop.stop();
      await queue.outcomes.all();
    },
  };
}

/** Handles the pending work; true if more is left. */
async function work(queue: QueueContext): Promise<boolean> {
  const hasMore = () =>
    progress.hasWork(queue.state, queue.book.due(queue.deps.clock.now().getTime()).length > 0);
  queue.state = progress.afterRest(queue.state, performance.now());
  if (hasMore()) {
    queue.state = progress.onRead(queue.state);
    if (queue.options.order === 'chat') await drainChats(queue);
    else {
      await retryDeferred(queue);
      await drain(queue);
    }
    if (hasMore()) return true;
  }
  queue.state = progress.onIdle(queue.state);
  return false;
}

async function cancel(
  queue: QueueContext,
  tasks: readonly TaskRef[],
  reason: string,
): Promise<{ cancelled: string[]; underWay: string[] }> {
  const { underWay, cancelled } = queue.book.cancel(tasks, { doubted: reason === ACCOUNT_CHANGED });
  for (const { taskId } of cancelled) queue.preparing.get(taskId)?.abort();
  const recorded = await Promise.all(
    cancelled.map(async (task) => {
      const isRecorded = await queue.outcomes.keep(task, endOfCancelled(queue, task, reason));
      if (isRecorded) queue.book.cancelRecorded(task.taskId);
      return isRecorded;
    }),
  );
  if (recorded.includes(false)) throw new LeaseLost(queue.options.lease);
  return { cancelled: cancelled.map(({ taskId }) => taskId), underWay: underWay.map(({ taskId }) => taskId) };
}
