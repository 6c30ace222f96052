import { setTimeout as delay } from 'node:timers/promises';

/** The application's time of day. Tests hold one that they can move. */
export interface Clock {
  now(): Date;
  /** Resolves after `ms` of this clock's time; rejects with AbortError when `signal` fires first. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
  /** By how much the process's own time of day is ahead, where this clock follows another. */
  ownAheadMs?(): number;
}

export const systemClock: Clock = {
  now: () => new Date(),
  sleep: (ms, signal) => delay(ms, undefined, signal ? { signal } : undefined),
};
