/** Lets `limit` pieces of work run at a time; the others wait in the order they came, until `signal` fires. */
export interface Limiter {
  run<T>(work: () => Promise<T>, signal?: AbortSignal): Promise<T>;
}

export function createLimiter(limit: number): Limiter {
  let running = 0;
  const waiting: (() => void)[] = [];

  function turn(signal: AbortSignal | undefined): Promise<void> {
    signal?.throwIfAborted();
    if (running < limit) {
      running += 1;
      return Promise.resolve();
    }
    return new Promise((resolve, reject) => {
      const begin = () => {
        signal?.removeEventListener('abort', leave);
        resolve();
      };
      const leave = () => {
        waiting.splice(waiting.indexOf(begin), 1);
        reject(signal?.reason);
      };
      waiting.push(begin);
      signal?.addEventListener('abort', leave, { once: true });
    });
  }

  return {
    async run(work, signal) {
      await turn(signal);
      try {
        return await work();
      } finally {
        const next = waiting.shift();
        // Its place goes over to the next one.
        if (next) next();
        else running -= 1;
      }
    },
  };
}
