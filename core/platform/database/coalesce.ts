import { isDeadlock, isUnavailable } from './database-errors.ts';
import { noAnswerInTime } from './in-time.ts';
import { createLanes } from './lanes.ts';

/**
 * Group commit in the process: while one batch is being written, arriving inputs gather and go in the
 * next, so under load a transaction (and its wait for the disk) is shared by many.
 *
 * `run` gets a batch and gives one outcome for each input, in order; an outcome that is an Error rejects
 * that input alone. When `run` itself throws, the whole batch is rejected if the database was
 * unavailable; otherwise each input is run alone, so that one input the database refuses costs nobody
 * else anything.
 *
 * When more waits than one batch takes, each party that `sharedBy` names gets an equal part of it: one that pushes thousands
 * of inputs at once delays itself alone. The inputs of one party keep their order.
 */
export function createCoalescer<In, Out>(options: {
  run: (batch: In[]) => Promise<(Out | Error)[]>;
  /** Inputs in one batch at most. */
  maxBatch: number;
  /** The party whose input it is. Absent: all inputs are one party's. */
  sharedBy?: (input: In) => string | number;
}): Coalescer<In, Out> {
  interface Waiting {
    input: In;
    sinceMs: number;
    untilMs: number;
    resolve: (out: Out) => void;
    reject: (err: unknown) => void;
  }
  const { sharedBy = () => '' } = options;
  const queue = createLanes<Waiting>(({ input }) => sharedBy(input));
  let running: Promise<void> | null = null;
  /** When the oldest input of the batch that is being written was pushed. */
  let oldestSinceMs: number | null = null;

  async function drain(): Promise<void> {
    // One turn of the event loop: requests that arrived in the same read go together.
    await new Promise(setImmediate);
    while (queue.size() > 0) {
      const waiting = queue.take(options.maxBatch).filter((each) => !isLate(each));
      if (waiting.length === 0) continue;
      oldestSinceMs = waiting.reduce(
        (oldest, { sinceMs }) => Math.min(oldest, sinceMs),
        Number.POSITIVE_INFINITY,
      );
      await runBatch(waiting);
    }
    oldestSinceMs = null;
    running = null;
  }

  /** Nobody waits for it any more, and none of it was written. */
  function isLate({ untilMs, reject }: Waiting): boolean {
    if (untilMs > performance.now()) return false;
    reject(noAnswerInTime());
    return true;
  }

  async function runBatch(batch: Waiting[]): Promise<void> {
    try {
      const outcomes = await options.run(batch.map((waiting) => waiting.input));
      // An input without an outcome must not pass for one that was dealt with.
      if (outcomes.length !== batch.length)
        throw new Error(`${batch.length} inputs got ${outcomes.length} outcomes`);
      batch.forEach((waiting, i) => {
        const outcome = outcomes[i] as Out | Error;
        if (outcome instanceof Error) waiting.reject(outcome);
        else waiting.resolve(outcome);
      });
    } catch (err) {
      if (batch.length === 1 || (isUnavailable(err) && !isDeadlock(err))) {
        for (const waiting of batch) waiting.reject(err);
        return;
      }
      for (const waiting of batch) await runBatch([waiting]);
    }
  }

  return {
    push(input, untilMs = Number.POSITIVE_INFINITY) {
      return new Promise((resolve, reject) => {
        queue.add({ input, sinceMs: performance.now(), untilMs, resolve, reject });
        running ??= drain();
      });
    },
    async idle() {
      while (running) await running;
    },
    size: queue.size,
    waitMs: () => (oldestSinceMs === null ? 0 : performance.now() - oldestSinceMs),
  };
}

export interface Coalescer<In, Out> {
  /** Rejects with 503 an input that is still not begun with at `untilMs` of the monotonic time. */
  push(input: In, untilMs?: number): Promise<Out>;
  /** Resolves when nothing is queued or being written. */
  idle(): Promise<void>;
  /** Inputs that wait for the batch after the one being written. */
  size(): number;
  /** How long the oldest input of the batch that is being written has waited; 0 when none is. */
  waitMs(): number;
}
