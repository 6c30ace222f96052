/**
 * Many short waits on one timer: tasks gather in buckets of a millisecond, and a bucket runs when its time is
 * reached. A timer for each auto-read would cost more than the message did.
 */
export interface TimerWheel {
  /** Runs `task` after `ms`, never before; tasks due in the same millisecond run in the order given. */
  after(ms: number, task: () => void): void;
  stop(): void;
}

/** How far ahead a full bucket is looked for: the timer fires this often while something is further away. */
const HORIZON_MS = 20;

export function createTimerWheel(): TimerWheel {
  const buckets = new Map<number, (() => void)[]>();
  /** Of the last bucket that was looked at. */
  let doneMs = 0;
  let timer: NodeJS.Timeout | undefined;
  let firesAtMs = Number.POSITIVE_INFINITY;

  function turn(): void {
    timer = undefined;
    const nowMs = Math.floor(performance.now());
    while (doneMs < nowMs) {
      const tasks = buckets.get(++doneMs);
      if (!tasks) continue;
      buckets.delete(doneMs);
      for (const task of tasks) task();
    }
    if (buckets.size > 0) fireAt(nextFull());
  }

  function nextFull(): number {
    for (let ms = doneMs + 1; ms <= doneMs + HORIZON_MS; ms += 1) if (buckets.has(ms)) return ms;
    return doneMs + HORIZON_MS;
  }

  function fireAt(ms: number): void {
    if (timer && firesAtMs <= ms) return;
    clearTimeout(timer);
    firesAtMs = ms;
    timer = setTimeout(turn, Math.max(1, ms - performance.now()));
    timer.unref();
  }

  return {
    after(ms, task) {
      const now = performance.now();
      if (buckets.size === 0 && !timer) doneMs = Math.floor(now);
      const due = Math.max(Math.ceil(now + ms), doneMs + 1);
      const tasks = buckets.get(due);
      if (tasks) tasks.push(task);
      else buckets.set(due, [task]);
      fireAt(Math.min(due, doneMs + HORIZON_MS));
    },
    stop() {
      clearTimeout(timer);
      timer = undefined;
      buckets.clear();
    },
  };
}
