/** Questions that wait for their answer on one connection, oldest first. */
import type { Clock } from '@posthorn/core/platform/process/clock.ts';

export interface InFlight<T> {
  /** Registers a question under the next number; `ask` is told it and sends. */
  ask(ask: (n: number) => void): Promise<T>;
  /** The number of the last question that is still waiting. */
  newest(): number | undefined;
  resolve(n: number, value: T): void;
  reject(n: number, error: Error): void;
  /** Rejects what has waited longer than the time-out. */
  expire(error: () => Error): void;
  rejectAll(error: () => Error): void;
}

interface Waiting<T> {
  resolve: (value: T) => void;
  reject: (error: Error) => void;
  deadlineMs: number;
}

/** One sweep over the oldest instead of a timer for each: the map keeps the order of asking. */
export function createInFlight<T>({ clock, timeoutMs }: { clock: Clock; timeoutMs: number }): InFlight<T> {
  const waiting = new Map<number, Waiting<T>>();
  let last = 0;

  function take(n: number): Waiting<T> | undefined {
    const found = waiting.get(n);
    waiting.delete(n);
    return found;
  }

  return {
    ask(ask) {
      const n = ++last;
      return new Promise<T>((resolve, reject) => {
        waiting.set(n, { resolve, reject, deadlineMs: clock.now().getTime() + timeoutMs });
        ask(n);
      });
    },
    // Numbers grow, so the last one that was asked is it, or it has been answered and any waiting one will do.
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
    rejectAll(error) {
      for (const n of [...waiting.keys()]) take(n)?.reject(error());
    },
  };
}
