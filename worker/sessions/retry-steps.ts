import { LeaseLost } from '@posthorn/core/instances/lock-leases.ts';
import { isUnavailable } from '@posthorn/core/platform/database/database-errors.ts';
import type { Clock } from '@posthorn/core/platform/process/clock.ts';
import type { Log } from '@posthorn/core/platform/process/log.ts';
import { afterRecordFailure } from '../dispatch/task-book.ts';
import { withJitter } from './session-decisions.ts';
import type { StepRetry } from './step-chain.ts';

const RETRY_MS = 1_000;

/**
 * Retries the steps of one session while the database is away, and a few times when it refuses them. The network reports only
 * once that a session is connected or has ended, so a step that is dropped leaves the instance in its last state: open and
 * never given a send, or ended and never opened again.
 */
export function retrySteps(
  { clock, random }: { clock: Clock; random(): number },
  { log, stopping }: { log: Log; stopping: AbortSignal },
): StepRetry {
  return async (err, what, refusals) => {
    const failure = {
      isStopping: stopping.aborted,
      isLeaseLost: err instanceof LeaseLost,
      isUnavailable: isUnavailable(err),
    };
    const next = afterRecordFailure(failure, refusals);
    if (next.to !== 'retry') return null;
    log.warn({ err, step: what }, 'session step failed, trying again');
    await clock.sleep(withJitter(RETRY_MS, random()), stopping).catch(() => undefined);
    return stopping.aborted ? null : next;
  };
}
