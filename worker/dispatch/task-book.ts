import type { PendingTask } from '@posthorn/core/sending/load-pending.ts';
import type { TaskOutcome } from './send-task.ts';

/** What the network could not take is tried again until it is this old (SND-28). */
const SEND_EXPIRES_MS = 10 * 60_000;
const DEFERRED_RETRY_MS = 5_000;
/** Of a record that the database refuses, which is not there to refuse it while it is away. */
const RECORD_TRIES = 10;

/** How long, and how often, what the network cannot take now is tried again. */
export interface Deferral {
  expiresMs: number;
  retryMs: number;
}

export const DEFERRAL: Deferral = { expiresMs: SEND_EXPIRES_MS, retryMs: DEFERRED_RETRY_MS };

/** A task by the ids that recording its end takes. */
export type TaskRef = Pick<PendingTask, 'taskId' | 'messageId' | 'operation'>;

/** An outcome that ends a task. */
export type TaskEnd = Extract<TaskOutcome, { at: Date }>;

/** What follows from the outcome of an attempt. Null: nothing, it was cancelled meanwhile. */
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
 * What to do when an end could not be recorded, for the time after `refusals` of them by the database.
 * `leave`: the next owner sends it again, under the same network id. `let_go`: the same, and the shard is another
 * worker's.
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

/** Where the tasks of an instance queue stand that are neither waiting in the database nor done. */
export interface TaskBook {
  /** Right before the network gets it; false when it was cancelled meanwhile. From here on it is under way. */
  begin(taskId: string): boolean;
  /** The attempt came to nothing that is known. */
  abandon(taskId: string): void;
  /** It has ended, and that is to be recorded: too late to cancel. */
  end(taskId: string): void;
  /** Its end is recorded, or never will be by this worker. */
  settle(taskId: string): void;
  defer(task: PendingTask, retryAtMs: number): void;
  hasDeferred(): boolean;
  due(nowMs: number): PendingTask[];
  isCancelled(taskId: string): boolean;
  /** Splits tasks into those that are under way, and those that from now on are never sent. */
  cancel<T extends TaskRef>(tasks: readonly T[]): { underWay: T[]; cancelled: T[] };
  /** The cancelling of this task is recorded. */
  cancelRecorded(taskId: string): void;
  /** Before reading anew: what is recorded as cancelled is gone from the table, so no read brings it again. */
  forgetCancelled(): void;
}

export function createTaskBook(): TaskBook {
  /** Tasks at the network or behind it whose end is not recorded. */
  const underWay = new Set<string>();
  /** Tasks that must not be sent, and whether that is recorded. */
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
