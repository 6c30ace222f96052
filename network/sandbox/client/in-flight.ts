/** Requests on one connection that wait for their answer, oldest first. */
import type { Clock } from '@posthorn/core/platform/process/clock.ts';

export interface InFlight<T> {
  /** Registers a request under the next number and passes that to `ask`, which sends the request. */
  ask(ask: (n: number) => void): Promise<T>;
  /** The number of the newest request still waiting. */
  newest(): number | undefined;
  resolve(n: number, value: T): void;
  reject(n: number, error: Error): void;
  /** Rejects requests that have waited longer than the timeout. */
  expire(error: () => Error): void;
  /** The connection has ended: rejects all requests, and those that come after. */
  end(error: () => Error): void;
}

interface Waiting<T> {
  resolve: (value: T) => void;
  reject: (error: Error) => void;
  deadlineMs: number;
}

/** Sweeps from the oldest instead of one timer each: the map keeps the order of the requests. */
export function createInFlight<T>({ clock, timeoutMs }: { clock: Clock; timeoutMs: number }): InFlight<T> {
  const waiting = new Map<number, Waiting<T>>();
  let last = 0;
  let ended: (() => Error) | null = null;

  function take(n: number): Waiting<T> | undefined {
    const found = waiting.get(n);
    waiting.delete(n);
    return found;
  }

  return {
    ask(ask) {
      if (ended) return Promise.reject(ended());
      const n = ++last;
      return new Promise<T>((resolve, reject) => {
        waiting.set(n, { resolve, reject, deadlineMs: clock.now().getTime() + timeoutMs });
        ask(n);
      });
    },
    // Numbers grow: either the last request is still waiting, or it was answered and any waiting one will do.
    newest: () => (waiting.has(last) ? last : [...waiting.keys()].at(-1)),
    resolve: (n, value) => take(n)?.resolve(value),
    reject: (n, error) => take(n)?.reject(error),
    expire(error) {
      const now = clock.now().getTime();
      for (const [n, { deadlineMs }] of waiting) {
        if (deadlineMs > now) return;
        take(n)?.reject(error());
      }
    },
    end(error) {
      ended = error;
      for (const n of [...waiting.keys()]) take(n)?.reject(error());
    },
  };
}
