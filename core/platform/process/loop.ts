import type { Clock } from './clock.ts';

/** Work that comes round again and again, one run at a time. */
export interface Loop {
  /** Runs now; during a run, once more after it. */
  wake(): void;
  /** Begins no further run, and resolves when the one under way has ended. Never rejects. */
  stop(): Promise<void>;
}

export interface LoopOptions {
  /** One run. True: there may be more to do, so the next one follows at once. */
  run(stopping: AbortSignal): Promise<boolean> | Promise<void>;
  /** Called when a run failed. The loop continues: the work of the run is still there. */
  onError(err: unknown): void;
  /** The wait after a run, unless a wake ends it; `Infinity` waits for a wake alone. Asked after each run. */
  everyMs: number | (() => number);
  /** The wait after a run that failed; a wake ends it too. Default: {@link everyMs}. */
  retryMs?: number;
  /** The least time between two runs, which no wake cuts short; a run that gave true has none after it. */
  gapMs?: number | (() => number);
  /** The first run comes after a wait or a wake. Default: at once. */
  waitsFirst?: boolean;
  /** The clock of the waits. Default: the process's own. */
  clock?: Pick<Clock, 'sleep'>;
}

/**
 * Starts a loop. A wake is never lost: one that comes during a run is answered by another run, since that run
 * may have looked already. Wakes that come together are answered by one run.
 */
export function startLoop(options: LoopOptions): Loop {
  const stopping = new AbortController();
  let woken = false;
  /** Ends the wait under way. */
  let interrupt: (() => void) | null = null;
  let isInGap = false;

  async function cycle(): Promise<void> {
    if (options.waitsFirst) await rest(msOf(options.everyMs));
    while (!stopping.signal.aborted) {
      woken = false;
      const waitMs = await runOnce();
      if (waitMs === null || stopping.signal.aborted) continue;
      const gapMs = msOf(options.gapMs ?? 0);
      if (gapMs > 0) await pauseInGap(gapMs);
      await rest(waitMs);
    }
  }

  /** How long to wait after it; null: not at all. */
  async function runOnce(): Promise<number | null> {
    try {
      return (await options.run(stopping.signal)) === true ? null : msOf(options.everyMs);
    } catch (err) {
      options.onError(err);
      return options.retryMs ?? msOf(options.everyMs);
    }
  }

  async function rest(ms: number): Promise<void> {
    if (!woken && !stopping.signal.aborted) await pause(ms);
  }

  async function pauseInGap(ms: number): Promise<void> {
    isInGap = true;
    await pause(ms);
    isInGap = false;
  }

  async function pause(ms: number): Promise<void> {
    await (options.clock && ms !== Number.POSITIVE_INFINITY
      ? pauseByClock(options.clock, ms)
      : pauseByTimer(ms));
    interrupt = null;
  }

  function pauseByTimer(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = ms === Number.POSITIVE_INFINITY ? undefined : setTimeout(resolve, ms);
      interrupt = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }

  function pauseByClock(clock: Pick<Clock, 'sleep'>, ms: number): Promise<void> {
    const early = new AbortController();
    interrupt = () => early.abort();
    return clock.sleep(ms, early.signal).catch(() => undefined);
  }

  // In a later microtask: whoever starts it may use what this function gives in its first run.
  const running = Promise.resolve().then(cycle);
  return {
    wake() {
      woken = true;
      if (!isInGap) interrupt?.();
    },
    async stop() {
      stopping.abort();
      interrupt?.();
      await running;
    },
  };
}

function msOf(ms: number | (() => number)): number {
  return typeof ms === 'number' ? ms : ms();
}
