import { ApiError } from '@posthorn/contract/api-error.ts';
import { LeaseLost } from '@posthorn/core/instances/lock-leases.ts';
import { SendUnavailable } from '@posthorn/core/network/driver.ts';
import { isUnavailable } from '@posthorn/core/platform/database/database-errors.ts';
import type { Clock } from '@posthorn/core/platform/process/clock.ts';
import { isStorageTrouble } from '@posthorn/core/platform/storage/storage.ts';
import type { PendingTask } from '@posthorn/core/sending/load-pending.ts';
import type { TriesScope, WorkTries } from '@posthorn/core/sending/work-tries.ts';
import { createCountedTries } from '../count-tries.ts';
import type { TaskOutcome } from './send-task.ts';

/** Tries of a task that fails for an unknown reason or crashes its worker. */
const TRIES = 5;
/**
 * A crashed instance queue had sent at most this many without a record, and then met the task that crashed
 * it.
 */
const COUNTED_AFTER_CRASH = 300;

/**
 * Ends tasks that would otherwise be retried forever and block all tasks behind them: those that fail in an
 * unforeseen way and those that crash their worker. Tries are counted in the database after the first
 * unforeseen failure, and for the first tasks of a shard whose last owner did not hand it over.
 */
export function createTaskTries(
  deps: { tries: WorkTries; clock: Clock },
  scope: TriesScope & { afterCrash: boolean },
) {
  const tries = createCountedTries(deps.tries, scope);
  const suspects = new Set<string>();
  let toCount = scope.afterCrash ? COUNTED_AFTER_CRASH : 0;

  return {
    /** Whether the tries of this task are counted, which needs an extra statement first. */
    counts: (taskId: string): boolean => toCount > 0 || suspects.has(taskId),
    /** Runs `send`, or returns that the task has failed. Throws the error of `send`: try again. */
    async attempt(task: PendingTask, send: () => Promise<TaskOutcome>): Promise<TaskOutcome> {
      const { taskId } = task;
      const counted = this.counts(taskId);
      const nth = counted ? ((await tries.begin([taskId])).get(taskId) ?? 1) : 1;
      const outcome = nth > TRIES ? givenUp() : await send().catch((err) => fail(taskId, counted, err));
      toCount = Math.max(0, toCount - 1);
      suspects.delete(taskId);
      if (counted) await tries.end([taskId]);
      return outcome;
    },
  };

  /** The task may have reached the network before the failure. */
  function givenUp(): TaskOutcome {
    return { to: 'failed', at: deps.clock.now(), reason: 'send_failed', wireState: 'unknown' };
  }

  async function fail(taskId: string, counted: boolean, err: unknown): Promise<never> {
    if (!isForeseen(err)) suspects.add(taskId);
    // The task was not to blame: its count starts again.
    else if (counted) await tries.takeBack([taskId]);
    throw err;
  }
}

/** The network, the database or the storage is away, or this worker is stopping: no task is to blame. */
function isForeseen(err: unknown): boolean {
  return (
    err instanceof SendUnavailable ||
    err instanceof LeaseLost ||
    (err instanceof ApiError && err.status === 503) ||
    (err instanceof Error && (err.name === 'AbortError' || err.name === 'TimeoutError')) ||
    isUnavailable(err) ||
    isStorageTrouble(err)
  );
}
