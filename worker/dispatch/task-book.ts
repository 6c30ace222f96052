import type { PendingTask } from '@posthorn/core/sending/load-pending.ts';
import type { TaskOutcome } from './send-task.ts';

/** A task the network could not take is retried until it is this old (SND-28). */
const SEND_EXPIRES_MS = 10 * 60_000;
const DEFERRED_RETRY_MS = 5_000;
/** Tries for a record that the database refuses; an unreachable database does not count. */
const RECORD_TRIES = 10;

/** How long and how often a task the network cannot take now is retried. */
export interface Deferral {
  expiresMs: number;
  retryMs: number;
}

export const DEFERRAL: Deferral = { expiresMs: SEND_EXPIRES_MS, retryMs: DEFERRED_RETRY_MS };

/** The ids of a task that recording its end needs. */
export type TaskRef = Pick<PendingTask, 'taskId' | 'messageId' | 'operation'>;

/** An outcome that ends a task. */
export type TaskEnd = Extract<TaskOutcome, { at: Date }>;

/** The next step after the outcome of an attempt. Null: none, the task was cancelled meanwhile. */
export function afterOutcome(
  task: Pick<PendingTask, 'createdAt'>,
  outcome: TaskOutcome,
  now: Date,
  deferral: Deferral,
): { retryAtMs: number } | { end: TaskEnd } | null {
  if (outcome.to === 'cancelled') return null;
  if (outcome.to !== 'deferred') return { end: outcome };
  if (now.getTime() - task.createdAt.getTime() < deferral.expiresMs)
    return { retryAtMs: now.getTime() + deferral.retryMs };
  return { end: { to: 'failed', at: now, reason: outcome.reason, wireState: 'not_sent' } };
}

/**
 * The next step when an end could not be recorded after `refusals` refusals by the database. `leave`: the
 * next owner sends the task again under the same network id. `let_go`: the same, and another worker owns the
 * shard.
 */
export function afterRecordFailure(
  failure: { isStopping: boolean; isLeaseLost: boolean; isUnavailable: boolean },
  refusals: number,
): { to: 'leave' | 'let_go' | 'give_up' } | { to: 'retry'; refusals: number } {
  if (failure.isStopping) return { to: 'leave' };
  if (failure.isLeaseLost) return { to: 'let_go' };
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
  /** The attempt ended without a known outcome. */
  abandon(taskId: string): void;
  /** The task has ended and its end will be recorded: too late to cancel. */
  end(taskId: string): void;
  /** Its end is recorded, or this worker will never record it. */
  settle(taskId: string): void;
  defer(task: PendingTask, retryAtMs: number): void;
  hasDeferred(): boolean;
  due(nowMs: number): PendingTask[];
  isCancelled(taskId: string): boolean;
  /** Splits tasks into those in progress and those that from now on are never sent. */
  cancel<T extends TaskRef>(tasks: readonly T[]): { underWay: T[]; cancelled: T[] };
  /** Notes that the cancellation of this task is recorded. */
  cancelRecorded(taskId: string): void;
  /** Called before a new read: recorded cancellations are gone from the table, so no read returns them. */
  forgetCancelled(): void;
}

export function createTaskBook(): TaskBook {
  /** Tasks at the network or already answered whose end is not recorded. */
  const underWay = new Set<string>();
  /** Tasks that must not be sent, and whether their cancellation is recorded. */
  const cancelled = new Map<string, 'recorded' | 'unrecorded'>();
  const deferred = new Map<string, { task: PendingTask; retryAtMs: number }>();
  return {
    begin(taskId) {
      if (cancelled.has(taskId)) return false;
      underWay.add(taskId);
      return true;
    },
    abandon: (taskId) => void underWay.delete(taskId),
    end(taskId) {
      deferred.delete(taskId);
      underWay.add(taskId);
    },
    settle: (taskId) => void underWay.delete(taskId),
    defer(task, retryAtMs) {
      underWay.delete(task.taskId);
      deferred.set(task.taskId, { task, retryAtMs });
    },
    hasDeferred: () => deferred.size > 0,
    due(nowMs) {
      if (deferred.size === 0) return [];
      return [...deferred.values()].flatMap(({ task, retryAtMs }) => (retryAtMs <= nowMs ? [task] : []));
    },
    isCancelled: (taskId) => cancelled.has(taskId),
    cancel(tasks) {
      const late = tasks.filter((task) => underWay.has(task.taskId));
      const waiting = tasks.filter((task) => !underWay.has(task.taskId));
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
