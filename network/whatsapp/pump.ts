/** Hands items to the owner one after the other, and retries those it could not record. */
import { setTimeout as delay } from 'node:timers/promises';

export interface Pump {
  /** Resolves when the owner has recorded the item; rejects if the session ended before. */
  run(job: () => Promise<void>): Promise<void>;
  /** Starts nothing more; resolves when the job in progress has settled. */
  stop(): Promise<void>;
}

const FIRST_RETRY_MS = 250;
const LAST_RETRY_MS = 5_000;

export function createPump(onFailure: (err: unknown) => void): Pump {
  const stopped = new AbortController();
  let line: Promise<unknown> = Promise.resolve();

  async function repeat(job: () => Promise<void>): Promise<void> {
    for (let retryMs = FIRST_RETRY_MS; ; retryMs = Math.min(retryMs * 2, LAST_RETRY_MS)) {
      stopped.signal.throwIfAborted();
      try {
        return await job();
      } catch (err) {
        onFailure(err);
        await delay(retryMs, undefined, { signal: stopped.signal });
      }
    }
  }

  return {
    run(job) {
      const done = line.then(() => repeat(job));
      line = done.catch(() => undefined);
      return done;
    },
    async stop() {
      stopped.abort();
      await line;
    },
  };
}
