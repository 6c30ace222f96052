import { type Loop, startLoop } from '@posthorn/core/platform/process/loop.ts';
import { type FireDeps, fireScheduled } from '@posthorn/core/sending/fire-scheduled.ts';

/** How late a scheduled send may be found to be due. */
const LOOK_EVERY_MS = 1_000;

/** Looks for scheduled sends whose time has come. Any number of workers may: each send is claimed by one. */
export function startScheduleRunner(deps: FireDeps): Pick<Loop, 'stop'> {
  return startLoop({
    clock: deps.clock,
    everyMs: LOOK_EVERY_MS,
    // Some were due: there may be more of them.
    run: async () => (await fireScheduled(deps)) > 0,
    onError: (err) => deps.log.warn({ err }, 'looking for scheduled sends failed, will be tried again'),
  });
}
