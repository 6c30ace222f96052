import { type Loop, startLoop } from '@posthorn/core/platform/process/loop.ts';
import { type FireDeps, fireScheduled } from '@posthorn/core/sending/fire-scheduled.ts';

/** Maximum delay before a due scheduled send is found. */
const LOOK_EVERY_MS = 1_000;

/** Looks for scheduled sends that are due. Any number of workers may run it: each send is claimed by one. */
export function startScheduleRunner(deps: FireDeps): Pick<Loop, 'stop'> {
  return startLoop({
    clock: deps.clock,
    everyMs: LOOK_EVERY_MS,
    // If some were due, there may be more.
    run: async () => (await fireScheduled(deps)) > 0,
    onError: (err) => deps.log.warn({ err }, 'looking for scheduled sends failed, will be retried'),
  });
}
