import { type Lease, LeaseLost } from '@posthorn/core/instances/hold-leases.ts';
import type { InstanceSettings } from '@posthorn/core/instances/settings.ts';
import { PENDING_PAGE, type PendingLoader, type PendingTask } from '@posthorn/core/messages/load-pending.ts';
import type { WorkTries } from '@posthorn/core/messages/work-tries.ts';
import { startLoop } from '@posthorn/core/platform/loop.ts';
import type { NetworkSession } from '@posthorn/network/driver.ts';
import { createInFlight, type InFlight } from './in-flight.ts';
import { createOutcomeKeeper, type OutcomeDeps, type OutcomeKeeper } from './keep-outcomes.ts';
import { isChange } from './outbound.ts';
import * as progress from './queue-progress.ts';
import { isReady, type SendTaskDeps, sendTask, type TaskOutcome } from './send-task.ts';
import {
  afterOutcome,
  createTaskBook,
  DEFERRAL,
  type Deferral,
  type TaskBook,
  type TaskRef,
} from './task-book.ts';
import { createTaskTries } from './task-tries.ts';

/** Sends whose outcome is not recorded yet, of one instance, at most. */
const MAX_UNRECORDED = 256;
const RETRY_MS = 1_000;
/** Whoever looks for the work of all instance queues wakes this one (look-for-work.ts). */
const IDLE_MS = 60_000;

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
  settings(): InstanceSettings;
}

/** The dispatch of one instance: its tasks in accept order (SND-32). */
export interface InstanceQueue {
  /** There is work up to this seq; without one, look anyway. */
  wake(upToSeq?: number): void;
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

/** What the functions of one instance queue share. */
interface Context {
  deps: InstanceQueueDeps;
  options: InstanceQueueOptions;
  deferral: Deferral;
  stopping: AbortController;
  tries: ReturnType<typeof createTaskTries>;
  book: TaskBook;
  outcomes: OutcomeKeeper;
  inFlight: InFlight;
  session: NetworkSession | null;
  state: progress.QueueProgress;
  /** Ends the wait of a queue that has sends in flight and nothing to hand over. */
  woken: PromiseWithResolvers<void>;
  /** What is still here to be sent is the new owner's. */
  letGo(): void;
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
  const queue = createContext(deps, options);
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
  return {
    wake(upToSeq) {
      const before = queue.state;
      queue.state = progress.afterWake(before, upToSeq, performance.now());
      if (queue.state === before) return;
      queue.woken.resolve();
      loop.wake();
    },
    idleAt: () => progress.idleAt(queue.state),
    lateMs: () => progress.lateMs(queue.state, performance.now()),
    attach(session) {
      queue.session = session;
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

function createContext(deps: InstanceQueueDeps, options: InstanceQueueOptions): Context {
  const stopping = new AbortController();
  const book = createTaskBook();
  function letGo(): void {
    detach(queue);
    deps.onLeaseLost(options.lease);
  }
  const queue: Context = {
    deps,
    options,
    deferral: deps.deferral ?? DEFERRAL,
    stopping,
    tries: createTaskTries(deps, { ...options, afterCrash: options.lease.afterCrash ?? false }),
    book,
    outcomes: createOutcomeKeeper(deps, { ...options, book, stopping: stopping.signal, onLeaseLost: letGo }),
    inFlight: createInFlight(),
    woken: Promise.withResolvers(),
    session: null,
    state: progress.newProgress(performance.now()),
    letGo,
  };
  return queue;
}

function detach(queue: Context): void {
  queue.session = null;
  queue.state = progress.afterDetach(queue.state);
}

/** Does what there is to do; true when there is more. */
async function work(queue: Context): Promise<boolean> {
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

async function retryDeferred(queue: Context): Promise<void> {
  for (const task of queue.book.due(queue.deps.clock.now().getTime())) {
    if (!(await handle(queue, task))) return;
  }
}

/** Hands over all that waits; returns when the network has answered it. */
async function drain(queue: Context): Promise<void> {
  const { inFlight, book } = queue;
  try {
    let readSeq: number | null = queue.state.handledSeq;
    let mayReadMore = true;
    while (mayReadMore || inFlight.size > 0) {
      if (!mayReadMore) await nextEvent(queue);
      else {
        const page = await readPage(queue, readSeq);
        readSeq = await handOver(queue, page, readSeq);
        mayReadMore = page.length === PENDING_PAGE;
        if (readSeq === null) break;
      }
      if (book.due(queue.deps.clock.now().getTime()).length > 0) {
        // What was deferred is older than all that can be read; the rest is read after it.
        queue.state = progress.afterInterruption(queue.state);
        break;
      }
      if (queue.state.mayHaveWork) {
        queue.state = progress.onRead(queue.state);
        mayReadMore = true;
      }
    }
    await concludeUntil(queue, 0);
  } catch (err) {
    for (const task of await inFlight.drop()) book.abandon(task.taskId);
    throw err;
  }
}

/** Waits for the answer to the oldest send, or for a wake. */
async function nextEvent(queue: Context): Promise<void> {
  const { inFlight } = queue;
  queue.woken = Promise.withResolvers();
  const answered = await Promise.race([
    inFlight.settled().then(() => true),
    queue.woken.promise.then(() => false),
  ]);
  if (answered) await concludeUntil(queue, inFlight.size - 1);
}

async function readPage(queue: Context, afterSeq: number): Promise<PendingTask[]> {
  queue.book.forgetCancelled();
  try {
    return await queue.deps.loader.push({ instanceId: queue.options.instanceId, afterSeq });
  } catch (err) {
    // What the network has taken meanwhile is kept, whatever the database says.
    await concludeUntil(queue, 0);
    throw err;
  }
}

/** The seq of the last one that was handed over; null when there is no session to hand it to. */
async function handOver(
  queue: Context,
  tasks: readonly PendingTask[],
  afterSeq: number,
): Promise<number | null> {
  const { inFlight, options, tries } = queue;
  let readSeq = afterSeq;
  for (const task of tasks) {
    const goesAlong = options.window > 1 && isReady(task, options) && !tries.counts(task.taskId);
    await concludeUntil(queue, goesAlong ? options.window - 1 : 0);
    if (!canSend(queue)) return null;
    if (goesAlong) inFlight.push(task, attempt(queue, queue.session!, task));
    else {
      if (!(await handle(queue, task))) return null;
      queue.state = progress.afterTask(queue.state, task.seq);
    }
    readSeq = task.seq;
  }
  return readSeq;
}

/** Concludes the oldest sends, in their order, until `left` are without an answer. */
async function concludeUntil(queue: Context, left: number): Promise<void> {
  const { inFlight, outcomes } = queue;
  while (inFlight.size > left) {
    const { task, outcome } = await inFlight.next();
    await conclude(queue, task, outcome);
    queue.state = progress.afterTask(queue.state, task.seq);
    if (outcomes.pending() >= MAX_UNRECORDED) await outcomes.any();
  }
}

/** Without a session, what could be sent now is looked for again when there is one. */
function canSend(queue: Context): boolean {
  if (queue.session && !queue.stopping.signal.aborted) return true;
  queue.state = progress.afterInterruption(queue.state);
  return false;
}

/** False when there is no session to hand it to; throws when it has to be tried again. */
async function handle(queue: Context, task: PendingTask): Promise<boolean> {
  if (!canSend(queue)) return false;
  queue.state = progress.onPrepare(queue.state);
  const outcome = await attempt(queue, queue.session!, task)
    .catch((err) => {
      queue.book.abandon(task.taskId);
      throw err;
    })
    .finally(() => {
      queue.state = progress.afterPrepare(queue.state);
    });
  await conclude(queue, task, outcome);
  return true;
}

/** Runs up to the network before it returns where nothing has to be done before (`isReady`). */
async function attempt(queue: Context, session: NetworkSession, task: PendingTask): Promise<TaskOutcome> {
  if (queue.book.isCancelled(task.taskId)) return { to: 'cancelled' };
  return queue.tries.attempt(task, () => sendTask(queue.deps, scopeOf(queue, task), session, task));
}

function scopeOf(queue: Context, task: PendingTask) {
  return {
    ...queue.options,
    signal: queue.stopping.signal,
    begin() {
      queue.state = progress.afterPrepare(queue.state);
      return queue.book.begin(task.taskId);
    },
  };
}

async function conclude(queue: Context, task: PendingTask, outcome: TaskOutcome): Promise<void> {
  queue.state = progress.afterAttempt(queue.state, performance.now());
  const next = afterOutcome(task, outcome, queue.deps.clock.now(), queue.deferral);
  if (next === null) return;
  if ('retryAtMs' in next) return queue.book.defer(task, next.retryAtMs);
  const recorded = queue.outcomes.keep(task, next.end);
  // Nor may the events of what follows overtake it.
  if (isChange(task)) await recorded;
}

async function cancel(
  queue: Context,
  tasks: readonly TaskRef[],
): Promise<{ cancelled: string[]; underWay: string[] }> {
  const { underWay, cancelled } = queue.book.cancel(tasks);
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
