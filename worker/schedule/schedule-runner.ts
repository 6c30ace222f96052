import { type FireDeps, fireScheduled } from '@posthorn/core/messages/fire-scheduled.ts';

/** How late a scheduled send may be found to be due. */
const LOOK_EVERY_MS = 1_000;

export interface ScheduleRunner {
  start(): void;
  stop(): Promise<void>;
}

/** Looks for scheduled sends whose time has come. Any number of workers may: each send is claimed by one. */
export function createScheduleRunner(deps: FireDeps): ScheduleRunner {
  const stopping = new AbortController();
  let running: Promise<void> = Promise.resolve();

  async function loop(): Promise<void> {
    while (!stopping.signal.aborted) {
      try {
        // A full batch says that there may be more.
        while ((await fireScheduled(deps)) > 0 && !stopping.signal.aborted);
      } catch (err) {
        deps.log.warn({ err }, 'looking for scheduled sends failed, will be tried again');
      }
      await deps.clock.sleep(LOOK_EVERY_MS, stopping.signal).catch(() => undefined);
    }
  }

  return {
    start() {
      running = loop();
    },
    async stop() {
      stopping.abort();
      await running;
    },
  };
}
