import { LeaseLost } from '@posthorn/core/instances/lock-leases.ts';
import type { NetworkSession } from '@posthorn/core/network/driver.ts';
import { startLoop } from '@posthorn/core/platform/process/loop.ts';
import type { PendingPage } from '@posthorn/core/sending/local-queues.ts';
import { drain, retryDeferred } from './drain-queue.ts';
import {
  createQueueContext,
  detach,
  type InstanceQueueDeps,
  type InstanceQueueOptions,
  type QueueContext,
} from './queue-context.ts';
import * as progress from './queue-progress.ts';
import type { TaskRef } from './task-book.ts';

const RETRY_MS = 1_000;
/** Whoever looks for the work of all instance queues wakes this one (look-for-work.ts). */
const IDLE_MS = 60_000;

/** The dispatch of one instance: its tasks in accept order (SND-32). */
export interface InstanceQueue {
  /** There is work up to this seq; without one, look anyway. */
  wake(upToSeq?: number): void;
  /** There is just this to do, if it was idle at the seq that the page begins after. */
  wakeWith(page: PendingPage): void;
  /** The seq that is handled, while it knows of nothing to do; null while it is at work or has no session. */
  idleAt(): number | null;
  /** For how long it has known of work and got nowhere; waits that are meant, as for typing, do not count. */
  lateMs(): number;
  attach(session: NetworkSession): void;
  detach(): void;
  /**
   * Takes tasks out that wait: recorded as cancelled when it resolves, and never sent. `underWay` are those
   * that the network has or is getting. Rejects when some could not be recorded: they may still be sent.
   */
  cancel(tasks: readonly TaskRef[]): Promise<{ cancelled: string[]; underWay: string[] }>;
  /** Stops after the sends that are under way; resolves when their outcomes are recorded. */
  stop(): Promise<void>;
}

/**
 * Reads pages of tasks above the last seq it handled and hands them to the session. Accepts of one
 * instance commit in the order of their seq, so nothing ever appears below it.
 *
 * Up to `window` sends are with the network at a time, and the outcome of one is recorded while the next are under
 * way: a crash in between sends them again under the same network ids, and the network drops what it has. When
 * the outcome of one is not known, it and all that were handed over after it go again, in their order. What has to
 * be prepared (media, typing) waits until the network has answered what came before. What the network cannot
 * take now steps aside, so that nothing else waits for it.
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
      if (err instanceof LeaseLost) queue.letGo();
      deps.log.warn({ err, instance_id: options.instanceId }, 'dispatch interrupted');
    },
  });

  function wake(upToSeq?: number): void {
    const before = queue.state;
    queue.state = progress.afterWake(before, upToSeq, performance.now());
    if (queue.state === before) return;
    // There may be more than the acceptor knew.
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
    attach(session) {
      queue.session = session;
      queue.page = null;
      queue.state = progress.afterAttach(queue.state, performance.now());
      loop.wake();
    },
    detach: () => detach(queue),
    cancel: (tasks) => cancel(queue, tasks),
    async stop() {
      stopping.abort();
      queue.woken.resolve();
      await loop.stop();
      await queue.outcomes.all();
    },
  };
}

/** Does what there is to do; true when there is more. */
async function work(queue: QueueContext): Promise<boolean> {
  const hasMore = () =>
    progress.hasWork(queue.state, queue.book.due(queue.deps.clock.now().getTime()).length > 0);
  queue.state = progress.afterRest(queue.state, performance.now());
  if (hasMore()) {
    queue.state = progress.onRead(queue.state);
    await retryDeferred(queue);
    await drain(queue);
    if (hasMore()) return true;
  }
  queue.state = progress.onIdle(queue.state);
  return false;
}

async function cancel(
  queue: QueueContext,
  tasks: readonly TaskRef[],
): Promise<{ cancelled: string[]; underWay: string[] }> {
  const { underWay, cancelled } = queue.book.cancel(tasks);
  const { preparing } = queue;
  if (preparing && cancelled.some(({ taskId }) => taskId === preparing.taskId)) preparing.cancelling.abort();
  const at = queue.deps.clock.now();
  const recorded = await Promise.all(
    cancelled.map(async (task) => {
      const end = { to: 'failed', at, reason: 'cancelled', wireState: 'not_sent' } as const;
      const isRecorded = await queue.outcomes.keep(task, end);
      if (isRecorded) queue.book.cancelRecorded(task.taskId);
      return isRecorded;
    }),
  );
  if (recorded.includes(false)) throw new LeaseLost(queue.options.lease);
  return { cancelled: cancelled.map(({ taskId }) => taskId), underWay: underWay.map(({ taskId }) => taskId) };
}
