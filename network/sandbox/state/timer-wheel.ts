/**
 * Many short waits on one timer: tasks gather in buckets of `tickMs`, and a bucket runs when its time
 * is reached. A timer for each auto-read would cost more than the message did.
 */
export interface TimerWheel {
  /** Runs `task` after `ms`, at most one tick late; tasks due in the same tick run in the order given. */
  after(ms: number, task: () => void): void;
  stop(): void;
}

export function createTimerWheel(tickMs = 20): TimerWheel {
  const buckets = new Map<number, (() => void)[]>();
  let done = tickOf(performance.now());
  let timer: NodeJS.Timeout | undefined;

  function tickOf(time: number): number {
    return Math.floor(time / tickMs);
  }

  function turn() {
    const now = tickOf(performance.now());
    while (done < now) {
      const tasks = buckets.get(++done);
      if (!tasks) continue;
      buckets.delete(done);
      for (const task of tasks) task();
    }
    if (buckets.size === 0) {
      clearInterval(timer);
      timer = undefined;
    }
  }

  return {
    after(ms, task) {
      if (!timer) {
        done = tickOf(performance.now());
        timer = setInterval(turn, tickMs);
        timer.unref();
      }
      const bucket = Math.max(tickOf(performance.now() + ms) + 1, done + 1);
      const tasks = buckets.get(bucket);
      if (tasks) tasks.push(task);
      else buckets.set(bucket, [task]);
    },
    stop() {
      clearInterval(timer);
      timer = undefined;
      buckets.clear();
    },
  };
}
