import { ACCOUNT_CHANGED, OUTCOME_UNKNOWN } from '@posthorn/core/messages/progress.ts';
import type { NetworkSession } from '@posthorn/core/network/driver.ts';
import { PENDING_PAGE, type PendingTask } from '@posthorn/core/sending/load-pending.ts';
import { isChange } from './outbound.ts';
import type { QueueContext } from './queue-context.ts';
import * as progress from './queue-progress.ts';
import { isReady, sendTask, type TaskOutcome } from './send-task.ts';
import { ALL_CHATS, afterOutcome, type TaskEnd, type TaskRef } from './task-book.ts';
import { traceAttempt } from './trace-task.ts';

/** Maximum sends of one instance whose outcome is not recorded yet. */
const MAX_UNRECORDED = 256;
/**
 * A page from the acceptor stays usable this long: it has the settings, and whether the company may send, as
 * of the accept.
 */
const KNOWN_MS = 100;

export async function retryDeferred(queue: QueueContext): Promise<void> {
  for (const task of queue.book.due(queue.deps.clock.now().getTime())) {
    if (!(await handle(queue, task))) return;
  }
}

/** Hands over all waiting tasks; returns once the network has answered them. */
export async function drain(queue: QueueContext): Promise<void> {
  const { inFlight, book } = queue;
  try {
    let readSeq: number | null = queue.state.handledSeq;
    let mayReadMore = true;
    while (mayReadMore || inFlight.size > 0) {
      if (!mayReadMore) await nextEvent(queue);
      else {
        const page = await readPage(queue, readSeq);
        readSeq = await handOverPage(queue, page, readSeq);
        mayReadMore = page.length === PENDING_PAGE;
        if (readSeq === null) break;
      }
      if (book.due(queue.deps.clock.now().getTime()).length > 0) {
        // Deferred tasks are older than anything still to be read; the rest is read after them.
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
async function nextEvent(queue: QueueContext): Promise<void> {
  const { inFlight } = queue;
  queue.woken = Promise.withResolvers();
  const answered = await Promise.race([
    inFlight.settled().then(() => true),
    queue.woken.promise.then(() => false),
  ]);
  if (answered) await concludeUntil(queue, inFlight.size - 1);
}

/** `waiting`: how many tasks of earlier pages have not been attempted. */
export async function readPage(queue: QueueContext, afterSeq: number, waiting = 0): Promise<PendingTask[]> {
  // Read this before forgetting cancelled tasks: the page may still contain them, as those that wait may.
  const known = takeKnown(queue, afterSeq);
  if (known.length > 0) return known;
  if (waiting === 0) queue.book.forgetCancelled();
  try {
    return await queue.deps.loader.push({ instanceId: queue.options.instanceId, afterSeq });
  } catch (err) {
    // Keep the outcomes of sends the network took meanwhile, even though the database failed.
    await concludeUntil(queue, 0);
    throw err;
  }
}

/** The tasks the acceptor reported, if that report is still valid. */
function takeKnown(queue: QueueContext, afterSeq: number): PendingTask[] {
  const { page } = queue;
  queue.page = null;
  if (!page || page.afterSeq > afterSeq || performance.now() - page.knownAtMs > KNOWN_MS) return [];
  return page.tasks.filter(({ seq }) => seq > afterSeq);
}

/** Hands tasks over in order. Returns the seq of the last one, or null if there is no session. */
async function handOverPage(
  queue: QueueContext,
  tasks: readonly PendingTask[],
  afterSeq: number,
): Promise<number | null> {
  const { inFlight, options, pacer, tries } = queue;
  const { dedupes, typingMaxMs, window } = options;
  let readSeq = afterSeq;
  for (const task of tasks) {
    const goesAlong =
      window > 1 && isReady(task, { dedupes, pacer, typingMaxMs }) && !tries.counts(task.taskId);
    await concludeUntil(queue, goesAlong ? window - 1 : 0);
    if (!inFlight.isOpenTo(queue.session)) await concludeUntil(queue, 0);
    if (!canSend(queue)) return null;
    if (goesAlong) inFlight.push(task, queue.session!, attempt(queue, queue.session!, task));
    else {
      if (!(await handle(queue, task))) return null;
      queue.state = progress.afterTask(queue.state, task.seq);
    }
    readSeq = task.seq;
  }
  return readSeq;
}

/** Records the outcomes of the oldest sends, in order, until only `left` are unanswered. */
async function concludeUntil(queue: QueueContext, left: number): Promise<void> {
  const { inFlight, outcomes } = queue;
  while (inFlight.size > left) {
    const { task, outcome } = await inFlight.next();
    await conclude(queue, task, outcome);
    queue.state = progress.afterTask(queue.state, task.seq);
    if (outcomes.pending() >= MAX_UNRECORDED) await outcomes.any();
  }
}

/** Without a session, pending tasks are looked up again once there is one. */
export function canSend(queue: QueueContext): boolean {
  if (queue.session && !queue.stopping.signal.aborted) return true;
  queue.state = progress.afterInterruption(queue.state);
  return false;
}

/** False if there is no session; throws if the task must be tried again. */
export async function handle(queue: QueueContext, task: PendingTask): Promise<boolean> {
  if (!canSend(queue)) return false;
  queue.state = progress.onPrepare(queue.state, performance.now());
  queue.preparing.set(task.taskId, new AbortController());
  const outcome = await attempt(queue, queue.session!, task)
    .catch((err) => {
      queue.book.abandon(task.taskId);
      throw err;
    })
    .finally(() => endPreparing(queue, task));
  await conclude(queue, task, outcome);
  return true;
}

function endPreparing(queue: QueueContext, { taskId }: PendingTask): void {
  if (queue.preparing.delete(taskId)) queue.state = progress.afterPrepare(queue.state, performance.now());
}

/** If the task needs no preparation (`isReady`), runs up to the network call before returning. */
async function attempt(
  queue: QueueContext,
  session: NetworkSession,
  task: PendingTask,
): Promise<TaskOutcome> {
  if (queue.book.isCancelled(task.taskId)) return { to: 'cancelled' };
  if (isOfOtherAccount(queue, task)) return endOfCancelled(queue, task, ACCOUNT_CHANGED);
  // The end of the send before it decides whether there is anything to change.
  if (isChange(task)) await queue.outcomes.all();
  const run = () =>
    queue.tries.attempt(task, () => sendTask(queue.deps, scopeOf(queue, task), session, task));
  const { trace, clock } = queue.deps;
  const { traceId } = task;
  if (!trace || traceId === null) return run();
  return traceAttempt({ trace, clock }, { ...task, traceId }, queue.options.instanceId, run);
}

/**
 * Whether the task was accepted for another account and reached no network. One that was being sent when the account changed
 * could not be cancelled then, and waits again if that network refused it for now.
 */
function isOfOtherAccount(
  { firstOwnSeq, deps, options }: QueueContext,
  { seq, taskId, attempts }: PendingTask,
) {
  if (firstOwnSeq === null || seq >= firstOwnSeq) return false;
  return attempts === 0 || deps.attempts.hasBegunInVain({ taskId, lease: options.lease });
}

/** The end of a task that is not sent any more: one in doubt may have reached the network before. */
export function endOfCancelled({ book, deps }: QueueContext, { taskId }: TaskRef, reason: string): TaskEnd {
  const at = deps.clock.now();
  if (book.isInDoubt(taskId)) return { to: 'failed', at, reason: OUTCOME_UNKNOWN, wireState: 'unknown' };
  return { to: 'failed', at, reason, wireState: 'not_sent' };
}

function scopeOf(queue: QueueContext, task: PendingTask) {
  return {
    ...queue.options,
    pacer: queue.pacer,
    signal: queue.stopping.signal,
    interrupted: queue.interruption.signal,
    cancelled: queue.preparing.get(task.taskId)?.signal,
    wasTyped: () => queue.book.wasTyped(task.taskId),
    typed: () => queue.book.typed(task.taskId),
    begin() {
      endPreparing(queue, task);
      return queue.book.begin(task.taskId);
    },
    doubt: () => queue.book.doubt(task.taskId),
  };
}

/** `heldSinceMs`: it was not tried, as the network has not been able to take one before it since then. */
export async function conclude(
  queue: QueueContext,
  task: PendingTask,
  outcome: TaskOutcome,
  heldSinceMs?: number,
): Promise<void> {
  queue.state = progress.afterAttempt(queue.state, performance.now());
  const now = queue.deps.clock.now();
  // Without a connection nothing is tried.
  const deferredSinceMs = Math.max(heldSinceMs ?? task.deferredSinceMs ?? now.getTime(), queue.attachedAtMs);
  const next = afterOutcome({ deferredSinceMs }, outcome, now, queue.deferral);
  if (next === null) return;
  if ('retryAtMs' in next) {
    const waiting = heldSinceMs === undefined ? { ...task, deferredSinceMs } : task;
    return defer(queue, waiting, { ...next, sinceMs: deferredSinceMs }, outcome);
  }
  const { to, at } = next.end;
  if (to !== 'accepted') queue.deps.counts?.onSendEnd(to, at.getTime() - task.createdAt.getTime());
  const sinceMs = performance.now();
  const recorded = queue.outcomes.keep(task, next.end);
  if (queue.deps.trace) void traceRecord(queue, task, recorded, sinceMs);
  // The events of later messages must not overtake this change.
  if (isChange(task)) await recorded;
}

/** Tells how long the end of a task took to be committed with its event. */
async function traceRecord(
  { deps, options }: QueueContext,
  { traceId }: PendingTask,
  recorded: Promise<boolean>,
  sinceMs: number,
): Promise<void> {
  const isRecorded = await recorded;
  if (traceId === null) return;
  deps.trace?.({
    traceId,
    name: 'record',
    kind: 'internal',
    durationMs: performance.now() - sinceMs,
    attributes: { 'posthorn.instance_id': options.instanceId },
    failure: isRecorded ? undefined : 'not_recorded',
  });
}

function defer(
  { book, options }: QueueContext,
  task: PendingTask,
  { retryAtMs, awaitedSinceMs, sinceMs }: { retryAtMs: number; awaitedSinceMs?: number; sinceMs: number },
  outcome: TaskOutcome,
): void {
  const reason = outcome.to === 'deferred' ? outcome.reason : 'send_failed';
  const until = { untilMs: retryAtMs, sinceMs, reason };
  // From now on it counts as sent once: what is due is then its failure.
  const waiting =
    awaitedSinceMs === undefined ? task : { ...task, attempts: Math.max(1, task.attempts), awaitedSinceMs };
  if (outcome.to === 'deferred' && options.order === 'chat') {
    const held = outcome.backOff?.of === 'account' ? ALL_CHATS : task.chatJid;
    book.hold(held, until);
  }
  book.defer(waiting, until);
}
