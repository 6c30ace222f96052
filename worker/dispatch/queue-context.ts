import type { Lease } from '@posthorn/core/instances/lock-leases.ts';
import type { NetworkSession } from '@posthorn/core/network/driver.ts';
import { networkIdOf } from '@posthorn/core/platform/ids.ts';
import type { Trace } from '@posthorn/core/platform/tracing/trace.ts';
import type { PendingLoader } from '@posthorn/core/sending/load-pending.ts';
import type { PendingPage } from '@posthorn/core/sending/local-queues.ts';
import type { WorkTries } from '@posthorn/core/sending/work-tries.ts';
import type { WorkCounts } from '../count-work.ts';
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
  /** Absent: nobody listens. */
  trace?: Trace | undefined;
  /** Default: nobody counts. */
  counts?: WorkCounts;
  /** A record failed because another worker now owns the shard: release it. */
  onLeaseLost(lease: Lease): void;
  /** Replaces {@link DEFERRAL}. */
  deferral?: Deferral;
}

export interface InstanceQueueOptions {
  instanceId: string;
  companyId: number;
  lease: Lease;
  /** Whether the network drops a second message with the same id. */
  dedupes: boolean;
  /** How many unanswered sends the network may have; see `NetworkDriver`. */
  window: number;
  order?: 'chat' | undefined;
  outcome?: 'told' | undefined;
  /** Minimum time between two sends; 0: none. */
  pacingMinMs: number;
  /** Maximum typing time for a text; 0: no typing. */
  typingMaxMs: number;
}

/** State shared by the functions of one instance queue. */
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
  /** Time by the clock at which the session was attached. */
  attachedAtMs: number;
  /** Tasks below it are of another account; null: none is. */
  firstOwnSeq: number | null;
  /** Ends the intended waits of tasks, which are then read again. */
  interruption: AbortController;
  /** The tasks being prepared for the network, and what cancels each. */
  preparing: Map<string, AbortController>;
  state: progress.QueueProgress;
  /** A page the acceptor knows to be everything that comes next. */
  page: PendingPage | null;
  /** Ends the wait of a queue with sends in flight and nothing to hand over. */
  woken: PromiseWithResolvers<void>;
  /** Network ids whose outcomes are recorded, and which no session was told. */
  untold: string[];
  /** Releases the shard: its new owner sends the remaining tasks. */
  releaseShard(): void;
}

export function createQueueContext(deps: InstanceQueueDeps, options: InstanceQueueOptions): QueueContext {
  const stopping = new AbortController();
  const book = createTaskBook();
  function releaseShard(): void {
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
    outcomes: createOutcomeKeeper(deps, {
      ...{ ...options, book, stopping: stopping.signal },
      onRecorded({ taskId }) {
        queue.untold.push(networkIdOf(taskId));
        tellRecorded(queue);
      },
      onLeaseLost: releaseShard,
    }),
    inFlight: createInFlight(),
    woken: Promise.withResolvers(),
    session: null,
    attachedAtMs: 0,
    firstOwnSeq: null,
    interruption: new AbortController(),
    preparing: new Map(),
    page: null,
    state: progress.newProgress(performance.now()),
    untold: [],
    releaseShard,
  };
  return queue;
}

/** A session keeps what it needs to repeat a send until it is told that the outcome is recorded. */
export function tellRecorded(queue: QueueContext): void {
  if (queue.untold.length > 0) queue.session?.recorded(queue.untold);
  if (queue.session) queue.untold = [];
}

export function detach(queue: QueueContext): void {
  queue.session = null;
  queue.page = null;
  queue.state = progress.afterDetach(queue.state);
}
