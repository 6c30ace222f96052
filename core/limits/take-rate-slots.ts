import type { Clock } from '../platform/clock.ts';
import type { Sql } from '../platform/db.ts';

/** One request counted, or refused, in the running minute of its company. */
export interface RateSlot {
  allowed: boolean;
  /** Requests a minute. */
  limit: number;
  /** What is left of this minute, as far as this process knows. */
  remaining: number;
  /** Unix seconds at which the next minute begins. */
  resetAtS: number;
  /** Seconds until then, at least 1. */
  retryAfterS: number;
}

export interface RateLimiter {
  /** Takes a slot at once from what this process holds; null when it has to ask the database. */
  takeCached(companyId: number, limit: number): RateSlot | null;
  /** Takes a slot, asking the database when needed. Rejects when it can't be asked. */
  take(companyId: number, limit: number): Promise<RateSlot>;
}

interface Window {
  /** Minutes since 1970. */
  minute: number;
  limit: number;
  /** Slots leased and not handed out yet. */
  free: number;
  /** Slots that no process has leased yet, as of the last lease. */
  unleased: number;
  waiting: Waiter[];
  leasing: boolean;
}

interface Waiter {
  resolve: (slot: RateSlot) => void;
  reject: (err: unknown) => void;
}

/**
 * Counts the requests of each company and minute, exactly across processes and across both services: no more
 * than the limit ever pass (LIM-1).
 *
 * A process leases slots from `rate_windows` and hands them out from memory: one at a time under small
 * limits, a hundredth of the limit under big ones, so that the hot path stays in the process while what
 * an idle neighbour holds back is 1 % at most. Requests that wait for a lease share it; the next one asks
 * for as many slots as requests gathered meanwhile. A minute found full is remembered: its refusals cost
 * no statement.
 */
export function createRateLimiter(deps: { db: Sql; clock: Clock }): RateLimiter {
  const windows = new Map<number, Window>();
  let sweptMinute = 0;

  function windowOf(companyId: number, limit: number): Window {
    const minute = Math.floor(deps.clock.now().getTime() / 60_000);
    let window = windows.get(companyId);
    if (!window) {
      sweep(minute);
      window = { minute, limit, free: 0, unleased: limit, waiting: [], leasing: false };
      windows.set(companyId, window);
    } else if (window.minute < minute || window.limit !== limit) {
      // A changed limit counts from the next lease on; what was leased under the old one is dropped.
      window.minute = Math.max(window.minute, minute);
      window.limit = limit;
      window.free = 0;
      window.unleased = limit;
    }
    return window;
  }

  /** Companies that were not heard of this minute are forgotten, so memory follows the active ones. */
  function sweep(minute: number): void {
    if (sweptMinute === minute) return;
    sweptMinute = minute;
    for (const [companyId, window] of windows)
      if (window.minute < minute && !window.leasing) windows.delete(companyId);
  }

  async function lease(companyId: number, window: Window): Promise<void> {
    window.leasing = true;
    while (window.waiting.length > 0) {
      const { limit } = window;
      const want = Math.max(window.waiting.length, Math.floor(limit / 100), 1);
      try {
        const { minute, used } = await leaseSlots(deps.db, companyId, window.minute, want);
        const before = used - want;
        // The row may be a minute ahead: another process's clock is. Then so are we.
        window.minute = Math.max(window.minute, minute);
        // A lease of a minute that has passed meanwhile, or of another limit, is worth nothing.
        if (window.minute === minute && window.limit === limit) {
          window.free += Math.max(0, Math.min(want, limit - before));
          window.unleased = Math.max(0, limit - used);
        }
      } catch (err) {
        for (const waiter of window.waiting.splice(0)) waiter.reject(err);
        break;
      }
      while (window.waiting.length > 0 && (window.free > 0 || window.unleased === 0))
        window.waiting.shift()!.resolve(handOut(window));
    }
    window.leasing = false;
  }

  function handOut(window: Window): RateSlot {
    const allowed = window.free > 0;
    if (allowed) window.free -= 1;
    const resetAtS = (window.minute + 1) * 60;
    return {
      allowed,
      limit: window.limit,
      remaining: window.free + window.unleased,
      resetAtS,
      retryAfterS: Math.max(1, Math.ceil(resetAtS - deps.clock.now().getTime() / 1000)),
    };
  }

  return {
    takeCached(companyId, limit) {
      const window = windowOf(companyId, limit);
      if (window.free > 0 || window.unleased === 0) return handOut(window);
      return null;
    },
    take(companyId, limit) {
      const window = windowOf(companyId, limit);
      if (!window.leasing && (window.free > 0 || window.unleased === 0))
        return Promise.resolve(handOut(window));
      return new Promise((resolve, reject) => {
        window.waiting.push({ resolve, reject });
        if (!window.leasing) void lease(companyId, window);
      });
    },
  };
}

/**
 * One statement on the primary key. `used` may run past the limit: what was granted is computed from it,
 * and a process that sees a full minute asks no more. The table is unlogged: a crash of the database
 * forgets at most the running minute.
 */
async function leaseSlots(
  db: Sql,
  companyId: number,
  minute: number,
  want: number,
): Promise<{ minute: number; used: number }> {
  const result = await db.query<{ minute: number; used: number }>({
    name: 'rate-windows-lease',
    text: `
      INSERT INTO public.rate_windows AS w (company_id, minute, used) VALUES ($1, $2, $3)
      ON CONFLICT (company_id) DO UPDATE
      SET minute = greatest(w.minute, excluded.minute),
          used = CASE WHEN w.minute < excluded.minute THEN 0 ELSE w.used END + excluded.used
      RETURNING minute, used`,
    values: [companyId, minute, want],
  });
  return result.rows[0]!;
}
