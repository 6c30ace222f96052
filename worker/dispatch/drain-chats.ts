import { sharedNameOf } from '@posthorn/core/lids/other-numbers.ts';
import { SendUnavailable } from '@posthorn/core/network/driver.ts';
import { isUnavailable } from '@posthorn/core/platform/database/database-errors.ts';
import { PENDING_PAGE, type PendingTask } from '@posthorn/core/sending/load-pending.ts';
import { canSend, conclude, handle, readPage } from './drain-queue.ts';
import { createLanes, type Lanes } from './lanes.ts';
import type { QueueContext } from './queue-context.ts';
import * as progress from './queue-progress.ts';
import { ALL_CHATS } from './task-book.ts';

/** Tasks of one instance in memory at most, those included that a chat's back-off holds. */
const HELD_MAX = 5_000;

/** State that one {@link drainChats} shares with its lanes. */
interface Draining {
  lanes: Lanes;
  /** The first error: tasks that have not begun by then are left for the next round. */
  failure: { cause: unknown } | null;
  /** The lowest seq of the tasks that were left, which is read again; infinite if none was. */
  leftSeq: number;
}

/**
 * Hands over all waiting tasks of a network that keeps order only within each chat: each chat has one send under way,
 * and up to `window` chats have one. Chats that the network holds back wait while the others continue. Returns once
 * nothing is under way.
 */
export async function drainChats(queue: QueueContext): Promise<void> {
  const draining: Draining = {
    // A pause lies between any two sends, also of different chats.
    lanes: createLanes(queue.pacer.isOn ? 1 : queue.options.window),
    failure: null,
    leftSeq: Number.POSITIVE_INFINITY,
  };
  const { lanes } = draining;
  queue.interruption = new AbortController();
  let readSeq = queue.state.handledSeq;
  let mayReadMore = true;
  takeDue(queue, draining);
  while (mayReadMore || lanes.size > 0) {
    if (draining.failure || !canSend(queue)) break;
    if (mayReadMore && lanes.size + queue.book.deferredCount() < HELD_MAX) {
      const page = await readPage(queue, readSeq, lanes.size).catch((cause) => fail(queue, draining, cause));
      for (const task of page) take(queue, draining, task);
      readSeq = page.at(-1)?.seq ?? readSeq;
      mayReadMore = page.length === PENDING_PAGE;
      continue;
    }
    if (lanes.size === 0) break;
    await nextEvent(queue, lanes);
    takeDue(queue, draining);
    if (queue.state.mayHaveWork) {
      queue.state = progress.onRead(queue.state);
      mayReadMore = true;
    }
  }
  if (!queue.session) queue.interruption.abort();
  while (lanes.size > 0) await lanes.progress();
  // Read again before its end is recorded, a task would count as one whose outcome is unknown.
  await queue.outcomes.all();
  if (draining.leftSeq <= readSeq) {
    const handledSeq = Math.min(queue.state.handledSeq, draining.leftSeq - 1);
    queue.state = progress.afterInterruption(progress.afterTask(queue.state, handledSeq));
  } else queue.state = progress.afterTask(queue.state, readSeq);
  if (draining.failure) throw draining.failure.cause;
}

function fail(queue: QueueContext, draining: Draining, cause: unknown): [] {
  draining.failure ??= { cause };
  // The next round need not wait for minutes until a text is typed. A storage may be away for hours, and would end each typing.
  if (isUnavailable(cause) || cause instanceof SendUnavailable) queue.interruption.abort();
  return [];
}

/** Waits until a task has ended, a deferred one is due, or for a wake. */
async function nextEvent(queue: QueueContext, lanes: Lanes): Promise<void> {
  const { book, deps } = queue;
  queue.woken = Promise.withResolvers();
  const over = new AbortController();
  const dueMs = book.nextDueMs(isFree(lanes));
  const due = async (atMs: number) => {
    const waitMs = Math.max(0, atMs - deps.clock.now().getTime());
    await deps.clock.sleep(waitMs, over.signal).catch(() => undefined);
  };
  const events = [lanes.progress(), queue.woken.promise];
  await Promise.race(dueMs === null ? events : [...events, due(dueMs)]);
  over.abort();
}

/** Behind a later task of its chat, a deferred one would be overtaken: it goes on waiting, and that one waits for it. */
function isFree(lanes: Lanes): (chat: string) => boolean {
  return (chat) => !lanes.has(chat);
}

function takeDue(queue: QueueContext, draining: Draining): void {
  const { lanes } = draining;
  for (const task of queue.book.takeDue(queue.deps.clock.now().getTime(), isFree(lanes)))
    lanes.push(sharedNameOf(task.chatJid), () => send(queue, draining, task));
}

function take(queue: QueueContext, draining: Draining, task: PendingTask): void {
  // After an interruption a page may have tasks that this queue still holds.
  if (queue.book.has(task.taskId)) return;
  draining.lanes.push(sharedNameOf(task.chatJid), () => send(queue, draining, task));
}

async function send(queue: QueueContext, draining: Draining, task: PendingTask): Promise<void> {
  try {
    await accountIsFree(queue);
    if (draining.failure || !canSend(queue)) return leave(draining, task);
    const nowMs = queue.deps.clock.now().getTime();
    const isAwaited = task.awaitedSinceMs !== undefined;
    const hold = isAwaited ? null : (queue.book.holdOf(task.chatJid, nowMs) ?? queue.book.earlierOf(task));
    if (hold) {
      const backOff = { of: 'chat', forMs: Math.max(0, hold.untilMs - nowMs) } as const;
      return await conclude(queue, task, { to: 'deferred', reason: hold.reason, backOff }, hold.sinceMs);
    }
    await handle(queue, task);
  } catch (cause) {
    leave(draining, task);
    fail(queue, draining, cause);
  }
}

function leave(draining: Draining, { seq }: PendingTask): void {
  draining.leftSeq = Math.min(draining.leftSeq, seq);
}

/** An intended wait, as typing is. */
async function accountIsFree(queue: QueueContext): Promise<void> {
  const { book, deps, stopping, interruption } = queue;
  for (;;) {
    const nowMs = deps.clock.now().getTime();
    const hold = book.holdOf(ALL_CHATS, nowMs);
    if (!hold) return;
    const ends = AbortSignal.any([stopping.signal, interruption.signal]);
    if (ends.aborted) return;
    queue.state = progress.onPrepare(queue.state, performance.now());
    await deps.clock.sleep(hold.untilMs - nowMs, ends).catch(() => undefined);
    queue.state = progress.afterPrepare(queue.state, performance.now());
  }
}
