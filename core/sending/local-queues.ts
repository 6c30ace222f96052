/**
 * The two ways from an accepted message to the queue of its instance
 * (docs/decisions/0028-handed-over-within-a-process.md). The outbox row is the same on both.
 *
 * The long way: the row is committed, a notification on `outbox` wakes the relay, which publishes a wake-up for the
 * instance to the broker. The worker that owns the instance wakes its queue, which reads its tasks.
 *
 * The short way, when the queue is in the process that accepts: `onAccepted` wakes it after the commit. It also gets
 * the tasks as a page, and reads nothing, when
 *
 *   1. the queue was idle before the accept (`idleAt`),
 *   2. the instance had no task above that seq, read under the lock of the accept order, and
 *   3. the batch has no delete or edit for the instance (`accepted-pages.ts`).
 *
 * A page serves for 100 ms and until the next wake. Without one that serves, the queue reads the database. When the
 * queue of any instance of a batch is elsewhere, the relay is told as on the long way. It also publishes what is still
 * in the outbox at its second look.
 */
import type { PendingTask } from './load-pending.ts';

/** The next page of a queue, as `createPendingLoader` reads it: all its tasks above `afterSeq`, in accept order. */
export interface PendingPage {
  afterSeq: number;
  /** Before anything was read that it was made of; monotonic. */
  knownAtMs: number;
  tasks: PendingTask[];
}

/** An instance that has new tasks, all committed. */
export interface AcceptedFor {
  instanceId: string;
  /** Null: its queue has to read them. */
  page: PendingPage | null;
}

/** The instance queues in the process of the acceptor: what it accepts need not be read again to be sent. */
export interface LocalQueues {
  /** The seq up to which the queue of this instance has handled its tasks; null: it is not here, or not idle. */
  idleAt(instanceId: string): number | null;
  /** Told after each commit. True: the queues of all these instances are here and were woken, so nobody else has to be told. */
  onAccepted(accepted: readonly AcceptedFor[]): boolean;
}
