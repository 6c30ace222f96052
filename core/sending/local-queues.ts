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
