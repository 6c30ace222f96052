import { type Lease, LeaseLost, type Recorded } from '@posthorn/core/instances/lock-leases.ts';
import type { EndedChange } from '@posthorn/core/messages/record-change-task.ts';
import type { ProgressRecorder } from '@posthorn/core/messages/record-progress.ts';
import { isUnavailable } from '@posthorn/core/platform/database/database-errors.ts';
import type { Clock } from '@posthorn/core/platform/process/clock.ts';
import type { Log } from '@posthorn/core/platform/process/log.ts';
import { isChange } from './outbound.ts';
import { afterRecordFailure, type TaskBook, type TaskEnd, type TaskRef } from './task-book.ts';

const RETRY_MS = 1_000;

export interface OutcomeDeps {
  recorder: ProgressRecorder;
  /** Records how a delete or edit ended. */
  recordChange(ended: EndedChange): Promise<Recorded>;
  clock: Clock;
  log: Log;
}

/** Records how the tasks of one instance ended while the queue goes on with others. */
export interface OutcomeKeeper {
  /** Resolves to whether the end was recorded. Never rejects. */
  keep(task: TaskRef, end: TaskEnd): Promise<boolean>;
  /** Number of ends not recorded yet. */
  pending(): number;
  /** Resolves when one of them is recorded. */
  any(): Promise<unknown>;
  all(): Promise<unknown>;
}

/** Retries until the end is recorded: a database outage delays the record and does not repeat the send. */
export function createOutcomeKeeper(
  deps: OutcomeDeps,
  scope: {
    instanceId: string;
    lease: Lease;
    book: TaskBook;
    stopping: AbortSignal;
    onRecorded(task: TaskRef): void;
    onLeaseLost(): void;
  },
): OutcomeKeeper {
  const unrecorded = new Set<Promise<boolean>>();

  async function attempt(task: TaskRef, end: TaskEnd, before: readonly Promise<boolean>[]): Promise<boolean> {
    // The events of a change come after those of the earlier messages.
    await Promise.all(before);
    for (let refusals = 0; ; ) {
      try {
        const isRecorded = (await recordEnd(deps, scope.lease, task, end)) === 'recorded';
        if (isRecorded) scope.onRecorded(task);
        return isRecorded;
      } catch (err) {
        const next = afterRecordFailure(
          {
            isStopping: scope.stopping.aborted,
            isLeaseLost: err instanceof LeaseLost,
            isUnavailable: isUnavailable(err),
          },
          refusals,
        );
        if (next.to === 'release') scope.onLeaseLost();
        if (next.to === 'give_up') {
          deps.log.error({ err, instance_id: scope.instanceId }, 'gave up recording progress');
        }
        if (next.to !== 'retry') return false;
        refusals = next.refusals;
        deps.log.warn({ err, instance_id: scope.instanceId }, 'recording progress failed, trying again');
        await deps.clock.sleep(RETRY_MS, scope.stopping).catch(() => undefined);
      }
    }
  }

  return {
    keep(task, end) {
      scope.book.end(task.taskId);
      const recorded = attempt(task, end, isChange(task) ? [...unrecorded] : []).finally(() => {
        unrecorded.delete(recorded);
        scope.book.settle(task.taskId);
      });
      unrecorded.add(recorded);
      return recorded;
    },
    pending: () => unrecorded.size,
    any: () => Promise.race(unrecorded),
    all: () => Promise.all(unrecorded),
  };
}

/** Records the end of one task. Rejects with LeaseLost or with the database's error. */
export function recordEnd(
  deps: Pick<OutcomeDeps, 'recorder' | 'recordChange'>,
  lease: Lease,
  task: TaskRef,
  { at, to, reason, wireState, assignedId }: TaskEnd,
): Promise<Recorded> {
  const { taskId, messageId } = task;
  if (!isChange(task)) return deps.recorder.push({ messageId, lease, to, at, reason, wireState, assignedId });
  const operation = task.operation as EndedChange['operation'];
  const failure = { reason: reason ?? 'send_failed', wireState: wireState ?? 'not_sent' } as const;
  return deps.recordChange({ taskId, operation, lease, at, ...(to === 'failed' ? { failure } : {}) });
}
