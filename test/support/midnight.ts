import { setTimeout as delay } from 'node:timers/promises';
import { DAY_MS, MINUTE_MS } from '@posthorn/core/platform/durations.ts';

/** For tests on the real clock that count by the day of UTC: waits when a day is about to begin, or has just begun. */
export async function awayFromMidnight(): Promise<void> {
  const sinceMs = Date.now() % DAY_MS;
  const waitMs =
    sinceMs > DAY_MS - 3 * MINUTE_MS ? DAY_MS - sinceMs + 2 * MINUTE_MS : 2 * MINUTE_MS - sinceMs;
  if (waitMs > 0) await delay(waitMs);
}
