import type { Clock } from '@posthorn/core/platform/process/clock.ts';

/** A clock that stands still until it is moved; sleepers wake when their moment is reached. */
export interface TestClock extends Clock {
  advance(ms: number): void;
  /** How many sleep on it now. */
  sleepers(): number;
}

export function createTestClock(start: Date = new Date('2026-01-01T00:00:00Z')): TestClock {
  let nowMs = start.getTime();
  const sleepers = new Set<{ at: number; wake: () => void }>();
  return {
    now: () => new Date(nowMs),
    sleep(ms, signal) {
      signal?.throwIfAborted();
      if (ms <= 0) return Promise.resolve();
      return new Promise((resolve, reject) => {
        const sleeper = {
          at: nowMs + ms,
          wake: () => {
            sleepers.delete(sleeper);
            signal?.removeEventListener('abort', abort);
            resolve();
          },
        };
        const abort = () => {
          sleepers.delete(sleeper);
          reject(signal?.reason);
        };
        signal?.addEventListener('abort', abort, { once: true });
        sleepers.add(sleeper);
      });
    },
    advance(ms) {
      nowMs += ms;
      const due = [...sleepers].filter((s) => s.at <= nowMs).sort((a, b) => a.at - b.at);
      for (const sleeper of due) sleeper.wake();
    },
    sleepers: () => sleepers.size,
  };
}
