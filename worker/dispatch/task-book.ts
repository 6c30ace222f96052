import { sharedNameOf } from '@posthorn/core/lids/other-numbers.ts';
import type { PendingTask } from '@posthorn/core/sending/load-pending.ts';
import type { TaskOutcome } from './send-task.ts';

/** How long a task that the network cannot take is tried again (SND-28). */
const SEND_EXPIRES_MS = 10 * 60_000;
const DEFERRED_RETRY_MS = 5_000;
/** How long the network has to tell what became of a send that it did not answer (SND-50). */
const UNANSWERED_MS = 15 * 60_000;
/** Tries for a record that the database refuses; an unreachable database does not count. */
const RECORD_TRIES = 10;

/** How long and how often a task the network cannot take now is retried. */
export interface Deferral {
  expiresMs: number;
  retryMs: number;
  /** How long an unanswered send is waited for; default {@link UNANSWERED_MS}. */
  unansweredMs?: number;
}

export const DEFERRAL: Deferral = { expiresMs: SEND_EXPIRES_MS, retryMs: DEFERRED_RETRY_MS };

/** Stands for the chat in a back-off that holds for every chat of the account. */
export const ALL_CHATS = '';

/** The ids of a task that recording its end needs. */
export type TaskRef = Pick<PendingTask, 'taskId' | 'messageId' | 'operation'>;

/** An outcome that ends a task. */
export type TaskEnd = Extract<TaskOutcome, { at: Date }>;

/**
 * The next step after the outcome of an attempt. Null: none, the task was cancelled meanwhile. `deferredSinceMs`: since when
 * the network has not been able to take the task; how long it waited for its turn before does not count.
 */
export function afterOutcome(
  { deferredSinceMs }: { deferredSinceMs: number },
  outcome: TaskOutcome,
  now: Date,
  deferral: Deferral,
): { retryAtMs: number; awaitedSinceMs?: number } | { end: TaskEnd } | null {
  const nowMs = now.getTime();
  if (outcome.to === 'cancelled') return null;
  if (outcome.to === 'unanswered')
    return { retryAtMs: nowMs + (deferral.unansweredMs ?? UNANSWERED_MS), awaitedSinceMs: nowMs };
  if (outcome.to !== 'deferred') return { end: outcome };
  if (nowMs - deferredSinceMs < deferral.expiresMs)
    return { retryAtMs: nowMs + (outcome.backOff?.forMs ?? deferral.retryMs) };
  return { end: { to: 'failed', at: now, reason: outcome.reason, wireState: 'not_sent' } };
}

/**
 * The next step when an end could not be recorded after `refusals` refusals by the database. `leave`: the
 * next owner sends the task again under the same network id. `release`: the same, and another worker owns the
 * shard.
 */
export function afterRecordFailure(
  failure: { isStopping: boolean; isLeaseLost: boolean; isUnavailable: boolean },
  refusals: number,
): { to: 'leave' | 'release' | 'give_up' } | { to: 'retry'; refusals: number } {
  if (failure.isStopping) return { to: 'leave' };
  if (failure.isLeaseLost) return { to: 'release' };
  const counted = failure.isUnavailable ? refusals : refusals + 1;
  return counted >= RECORD_TRIES ? { to: 'give_up' } : { to: 'retry', refusals: counted };
}

/** The state of an instance queue's tasks that are neither waiting in the database nor done. */
export interface TaskBook {
  /**
   * Called right before the network gets the task; false if it was cancelled meanwhile. From here on it is in
   * progress.
   */
  begin(taskId: string): boolean;
  /** The task was typed to its end: no further try types it. */
  typed(taskId: string): void;
  /** Whether that holds of the task until its end is known. */
  wasTyped(taskId: string): boolean;
  /** The attempt ended without a known outcome. */
  abandon(taskId: string): void;
  /** The network may have taken the task, and did not answer. */
  doubt(taskId: string): void;
  /** Whether that holds of the task until its end is known. */
  isInDoubt(taskId: string): boolean;
  /** The task has ended and its end will be recorded: too late to cancel. */
  end(taskId: string): void;
  /** Its end is recorded, or this worker will never record it. */
  settle(taskId: string): void;
  /** `until`: when it is tried again, and since when and why the network has not been able to take it, or what is before it. */
  defer(task: PendingTask, until: Hold): void;
  /** An earlier task of the same chat that waits for its time, which this one may not overtake; or null. */
  earlierOf(task: PendingTask): Hold | null;
  /** Lets nothing go to this chat, or to {@link ALL_CHATS}, until the hold ends. */
  hold(chat: string, hold: Hold): void;
  /** The hold on this chat now, or null. */
  holdOf(chat: string, nowMs: number): Hold | null;
  /** Whether the task is at the network, deferred, or ended and not recorded. */
  has(taskId: string): boolean;
  /** The number of tasks that wait for their time. */
  deferredCount(): number;
  hasDeferred(): boolean;
  due(nowMs: number): PendingTask[];
  /** Those of free chats in their order, and they wait no longer. */
  takeDue(nowMs: number, isFree: (chat: string) => boolean): PendingTask[];
  /** When the next task of a free chat is due; null: none waits. */
  nextDueMs(isFree: (chat: string) => boolean): number | null;
  isCancelled(taskId: string): boolean;
  /**
   * Splits tasks into those that the network has or may have, and those that from now on are never sent. `doubted`: tasks
   * in doubt count as the latter.
   */
  cancel<T extends TaskRef>(
    tasks: readonly T[],
    options?: { doubted: boolean },
  ): { underWay: T[]; cancelled: T[] };
  /** Notes that the cancellation of this task is recorded. */
  cancelRecorded(taskId: string): void;
  /** Called before a new read: recorded cancellations are gone from the table, so no read returns them. */
  forgetCancelled(): void;
}

/** A back-off that the network asked for, since when it does, and what a message fails with that it outlasts. */
export interface Hold {
  untilMs: number;
  sinceMs: number;
  reason: string;
}

export function createTaskBook(): TaskBook {
  /** Tasks at the network or already answered whose end is not recorded. */
  const underWay = new Set<string>();
  /** Tasks that must not be sent, and whether their cancellation is recorded. */
  const cancelled = new Map<string, 'recorded' | 'unrecorded'>();
  const doubted = new Set<string>();
  const typed = new Set<string>();
  const deferred = createDeferred();
  const holds = new Map<string, Hold>();
  return {
    begin(taskId) {
      if (cancelled.has(taskId)) return false;
      underWay.add(taskId);
      return true;
    },
    typed: (taskId) => void typed.add(taskId),
    wasTyped: (taskId) => typed.has(taskId),
    abandon: (taskId) => void underWay.delete(taskId),
    doubt: (taskId) => void doubted.add(taskId),
    isInDoubt: (taskId) => doubted.has(taskId),
    end(taskId) {
      deferred.delete(taskId);
      doubted.delete(taskId);
      typed.delete(taskId);
      underWay.add(taskId);
    },
    settle: (taskId) => void underWay.delete(taskId),
    defer(task, until) {
      underWay.delete(task.taskId);
      deferred.set({ task, until });
    },
    earlierOf({ chatJid, seq }) {
      for (const { task, until } of deferred.ofChat(chatJid)) {
        // One that the network may have taken is not sent again, so nothing can overtake it.
        if (task.awaitedSinceMs !== undefined || task.seq >= seq) continue;
        return until;
      }
      return null;
    },
    hold: (chat, hold) => void holds.set(sharedNameOf(chat), hold),
    holdOf(chat, nowMs) {
      const name = sharedNameOf(chat);
      const hold = holds.get(name);
      if (!hold || hold.untilMs > nowMs) return hold ?? null;
      holds.delete(name);
      return null;
    },
    has: (taskId) => deferred.has(taskId) || underWay.has(taskId),
    deferredCount: () => deferred.size(),
    hasDeferred: () => deferred.size() > 0,
    due(nowMs) {
      return [...deferred.all()].flatMap(({ task, until }) => (until.untilMs <= nowMs ? [task] : []));
    },
    takeDue(nowMs, isFree) {
      const due = this.due(nowMs)
        .filter(({ chatJid }) => isFree(sharedNameOf(chatJid)))
        .sort((one, other) => one.seq - other.seq);
      for (const { taskId } of due) deferred.delete(taskId);
      return due;
    },
    nextDueMs: (isFree) => deferred.nextDueMs(isFree),
    isCancelled: (taskId) => cancelled.has(taskId),
    cancel(tasks, options) {
      const isLate = ({ taskId }: TaskRef) =>
        underWay.has(taskId) || deferred.isAwaited(taskId) || (!options?.doubted && doubted.has(taskId));
      const late = tasks.filter(isLate);
      const waiting = tasks.filter((task) => !isLate(task));
      for (const { taskId } of waiting) {
        deferred.delete(taskId);
        cancelled.set(taskId, 'unrecorded');
      }
      return { underWay: late, cancelled: waiting };
    },
    cancelRecorded: (taskId) => void cancelled.set(taskId, 'recorded'),
    forgetCancelled() {
      for (const [taskId, state] of cancelled) if (state === 'recorded') cancelled.delete(taskId);
    },
  };
}

interface DeferredTask {
  task: PendingTask;
  until: Hold;
}

/**
 * Deferred tasks in the order in which they were deferred first, and the same by chat: every task that comes asks for the
 * earlier ones of its chat, and a queue holds thousands of others.
 */
function createDeferred() {
  const tasks = new Map<string, DeferredTask>();
  const byChat = new Map<string, Map<string, DeferredTask>>();
  return {
    set(entry: DeferredTask): void {
      const { taskId } = entry.task;
      const name = sharedNameOf(entry.task.chatJid);
      tasks.set(taskId, entry);
      const chat = byChat.get(name) ?? new Map<string, DeferredTask>();
      byChat.set(name, chat.set(taskId, entry));
    },
    delete(taskId: string): void {
      const entry = tasks.get(taskId);
      if (!entry) return;
      tasks.delete(taskId);
      const name = sharedNameOf(entry.task.chatJid);
      const chat = byChat.get(name);
      chat?.delete(taskId);
      if (chat?.size === 0) byChat.delete(name);
    },
    has: (taskId: string) => tasks.has(taskId),
    /** Whether the network may have taken it. */
    isAwaited: (taskId: string) => tasks.get(taskId)?.task.awaitedSinceMs !== undefined,
    size: () => tasks.size,
    all: () => tasks.values(),
    nextDueMs(isFree: (chat: string) => boolean): number | null {
      let next: number | null = null;
      for (const [chat, ofChat] of byChat) {
        if (!isFree(chat)) continue;
        for (const { until } of ofChat.values()) next = Math.min(next ?? until.untilMs, until.untilMs);
      }
      return next;
    },
    ofChat: (chatJid: string): Iterable<DeferredTask> => byChat.get(sharedNameOf(chatJid))?.values() ?? [],
  };
}
