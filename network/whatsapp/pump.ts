/** Hands items to the owner in order, and retries those it could not record. */
import { setTimeout as delay } from 'node:timers/promises';

export interface Pump {
  /** Resolves when the owner has recorded the item; rejects if the session ended before. */
  run(job: () => Promise<void>): Promise<void>;
  /**
   * Returns a function that hands over items in batches: those that come while others are recorded go together, in
   * order among all jobs, `max` at most. Its promise is that of the batch.
   */
  inBatches<T>(job: (items: readonly T[]) => Promise<void>, max: number): (item: T) => Promise<void>;
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

  /** The end of the line, if it is a batch that was not begun. */
  let open: object | null = null;

  function run(job: () => Promise<void>): Promise<void> {
    open = null;
    const done = line.then(() => repeat(job));
    line = done.catch(() => undefined);
    return done;
  }

  return {
    run,
    inBatches<T>(job: (items: readonly T[]) => Promise<void>, max: number) {
      let batch: { items: T[]; done: Promise<void> } | null = null;
      return (item: T) => {
        if (batch && batch === open && batch.items.length < max) {
          batch.items.push(item);
          return batch.done;
        }
        const items = [item];
        const next = {
          items,
          done: run(() => {
            if (open === next) open = null;
            return job(items);
          }),
        };
        batch = next;
        open = next;
        return next.done;
      };
    },
    async stop() {
      stopped.abort();
      await line;
    },
  };
}
