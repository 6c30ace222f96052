import type { Log } from '@posthorn/core/platform/log.ts';
import { createWaker } from '@posthorn/core/platform/waker.ts';

export interface Loop {
  wake(): void;
  /** Ends after the round that is under way. */
  stop(): Promise<void>;
}

/**
 * Runs `round` until it finds nothing to do, then waits for a wake or `everyMs`. A round that fails is run
 * again after the same wait: whatever it works on is still in the database.
 */
export function startLoop(options: {
  name: string;
  log: Log;
  everyMs: number;
  /** True: there was something, look again at once. */
  round: () => Promise<boolean>;
}): Loop {
  const waker = createWaker();
  let stopping = false;
  const running = (async () => {
    while (!stopping) {
      const more = await options.round().catch((err) => {
        options.log.warn({ err, loop: options.name }, 'a round failed, will be run again');
        return false;
      });
      if (!more && !stopping) await waker.wait(options.everyMs);
    }
  })();
  return {
    wake: () => waker.wake(),
    async stop() {
      stopping = true;
      waker.wake();
      await running;
    },
  };
}
