import { ApiError } from '@posthorn/contract/api-error.ts';
import { LeaseLost } from '@posthorn/core/instances/lock-leases.ts';
import { SendUnavailable } from '@posthorn/core/network/driver.ts';
import { isUnavailable } from '@posthorn/core/platform/database/db.ts';
import type { Clock } from '@posthorn/core/platform/process/clock.ts';
import { isStorageTrouble } from '@posthorn/core/platform/storage/storage.ts';
import type { PendingTask } from '@posthorn/core/sending/load-pending.ts';
import type { TriesScope, WorkTries } from '@posthorn/core/sending/work-tries.ts';
import type { TaskOutcome } from './send-task.ts';

/** A task that fails for no known reason, or that its worker dies of, is tried this often. */
const TRIES = 5;
/** An instance queue that died had sent this many without a record at most, and then met the one that killed it. */
const COUNTED_AFTER_CRASH = 300;

/**
 * Ends tasks that would otherwise be tried for ever, with everything behind them waiting: those that fail
 * in a way that nobody foresaw, and those that kill their worker. Tries are counted in the database, after
 * the first unforeseen failure and for the first tasks of a shard whose last owner did not hand it over.
 */
export function createTaskTries(
  deps: { tries: WorkTries; clock: Clock },
  scope: TriesScope & { afterCrash: boolean },
) {
  const suspects = new Set<string>();
  let toCount = scope.afterCrash ? COUNTED_AFTER_CRASH : 0;

  return {
    /** Whether the tries of this task are counted, which takes a statement before it. */
    counts: (taskId: string): boolean => toCount > 0 || suspects.has(taskId),
    /** Runs `send`, or says that the task has failed. Throws what `send` throws: try again. */
    async attempt(task: PendingTask, send: () => Promise<TaskOutcome>): Promise<TaskOutcome> {
      const { taskId } = task;
      const counted = this.counts(taskId);
      const nth = counted ? ((await deps.tries.begin(scope, [taskId])).get(taskId) ?? 1) : 1;
      const outcome = nth > TRIES ? givenUp() : await send().catch((err) => fail(taskId, counted, err));
      toCount = Math.max(0, toCount - 1);
      suspects.delete(taskId);
      if (counted) await deps.tries.end(scope, [taskId]);
      return outcome;
    },
  };

  /** It may have reached the network before whatever went wrong did. */
  function givenUp(): TaskOutcome {
    return { to: 'failed', at: deps.clock.now(), reason: 'send_failed', wireState: 'unknown' };
  }

  async function fail(taskId: string, counted: boolean, err: unknown): Promise<never> {
    if (!isForeseen(err)) suspects.add(taskId);
    // It was somebody else's fault: the count begins anew.
    else if (counted) await deps.tries.end(scope, [taskId]).catch(() => undefined);
    throw err;
  }
}

/** The network, the database or the storage is away, or we are stopping: no task is to blame. */
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
