import type { Lease } from '@posthorn/core/instances/lock-leases.ts';
import type { NetworkSession } from '@posthorn/core/network/driver.ts';
import type { PendingLoader } from '@posthorn/core/sending/load-pending.ts';
import type { PendingPage } from '@posthorn/core/sending/local-queues.ts';
import type { WorkTries } from '@posthorn/core/sending/work-tries.ts';
import { createInFlight, type InFlight } from './in-flight.ts';
import { createOutcomeKeeper, type OutcomeDeps, type OutcomeKeeper } from './keep-outcomes.ts';
import { createPacer, type Pacer } from './pacing.ts';
import * as progress from './queue-progress.ts';
import type { SendTaskDeps } from './send-task.ts';
import { createTaskBook, DEFERRAL, type Deferral, type TaskBook } from './task-book.ts';
import { createTaskTries } from './task-tries.ts';

export interface InstanceQueueDeps extends SendTaskDeps, OutcomeDeps {
  loader: PendingLoader;
  tries: WorkTries;
  /** Something could not be recorded, because another worker owns the shard by now: let go of it. */
  onLeaseLost(lease: Lease): void;
  /** In place of {@link DEFERRAL}. */
  deferral?: Deferral;
}

export interface InstanceQueueOptions {
  instanceId: string;
  companyId: number;
  lease: Lease;
  /** Whether the network drops a second message with the same id. */
  dedupes: boolean;
  /** How many sends the network may have without an answer. */
  window: number;
  /** The least distance between two sends; 0: none. */
  pacingMinMs: number;
  /** The longest time that a text is typed; 0: none is. */
  typingMaxMs: number;
}

/** What the functions of one instance queue share. */
export interface QueueContext {
  deps: InstanceQueueDeps;
  options: InstanceQueueOptions;
  deferral: Deferral;
  pacer: Pacer;
  stopping: AbortController;
  tries: ReturnType<typeof createTaskTries>;
  book: TaskBook;
  outcomes: OutcomeKeeper;
  inFlight: InFlight;
  session: NetworkSession | null;
  /** What is being prepared for the network, which goes one at a time, and what tells it that it was cancelled. */
  preparing: { taskId: string; cancelling: AbortController } | null;
  state: progress.QueueProgress;
  /** What the acceptor knows to be all that is to be read next. */
  page: PendingPage | null;
  /** Ends the wait of a queue that has sends in flight and nothing to hand over. */
  woken: PromiseWithResolvers<void>;
  /** What is still here to be sent is the new owner's. */
  letGo(): void;
}

export function createQueueContext(deps: InstanceQueueDeps, options: InstanceQueueOptions): QueueContext {
  const stopping = new AbortController();
  const book = createTaskBook();
  function letGo(): void {
    detach(queue);
    deps.onLeaseLost(options.lease);
  }
  const queue: QueueContext = {
    deps,
    options,
    deferral: deps.deferral ?? DEFERRAL,
    pacer: createPacer(deps, options.pacingMinMs),
    stopping,
    tries: createTaskTries(deps, { ...options, afterCrash: options.lease.afterCrash ?? false }),
    book,
    outcomes: createOutcomeKeeper(deps, { ...options, book, stopping: stopping.signal, onLeaseLost: letGo }),
    inFlight: createInFlight(),
    woken: Promise.withResolvers(),
    session: null,
    preparing: null,
    page: null,
    state: progress.newProgress(performance.now()),
    letGo,
  };
  return queue;
}

export function detach(queue: QueueContext): void {
  queue.session = null;
  queue.page = null;
  queue.state = progress.afterDetach(queue.state);
}
