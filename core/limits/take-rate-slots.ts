import type { Sql } from '../platform/database/db.ts';
import type { Clock } from '../platform/process/clock.ts';
import {
  addToWindows,
  COMPANY_WINDOWS,
  createMinutes,
  createWindows,
  type Window,
} from './minute-windows.ts';

/** One request counted, or refused, in the running minute of its company. */
export interface RateSlot {
  allowed: boolean;
  /** Requests a minute. */
  limit: number;
  /** Requests left in this minute, as far as this process knows. */
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

interface CompanyWindow extends Window {
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
 * Counts the requests of each company and minute, exactly across processes and across both services: never more than
 * the limit pass (LIM-1).
 *
 * A process leases slots from `rate_windows` and hands them out from memory: one at a time under small limits, a
 * hundredth of the limit under large ones, so that the hot path stays in the process while an idle process holds back
 * 1 % at most. Requests that wait for a lease share it; the next lease asks for as many slots as requests have gathered
 * meanwhile. A minute found full is remembered: its refusals cost no statement.
 */
export function createRateLimiter(deps: { db: Sql; clock: Clock }): RateLimiter {
  const minutes = createMinutes(deps.clock);
  const windows = createWindows<number, CompanyWindow>({
    minutes,
    open: (minute) => ({ minute, limit: 0, free: 0, unleased: 0, waiting: [], leasing: false }),
    renew: (window) => begin(window, window.limit),
    isBusy: (window) => window.leasing,
  });

  function begin(window: CompanyWindow, limit: number): void {
    window.limit = limit;
    window.free = 0;
    window.unleased = limit;
  }

  function windowOf(companyId: number, limit: number): CompanyWindow {
    const window = windows.of(companyId);
    // A changed limit counts from the next lease on; what was leased under the old one is dropped.
    if (window.limit !== limit) begin(window, limit);
    return window;
  }

  async function lease(companyId: number, window: CompanyWindow): Promise<void> {
    window.leasing = true;
    while (window.waiting.length > 0) {
      const { limit } = window;
      const want = Math.max(window.waiting.length, Math.floor(limit / 100), 1);
      try {
        const { minute, used } = await leaseSlots(deps.db, companyId, window.minute, want);
        const before = used - want;
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
      while (window.free > 0 || window.unleased === 0) {
        const next = window.waiting.shift();
        if (!next) break;
        next.resolve(handOut(window));
      }
    }
    window.leasing = false;
  }

  function handOut(window: CompanyWindow): RateSlot {
    const allowed = window.free > 0;
    if (allowed) window.free -= 1;
    const resetAtS = (window.minute + 1) * 60;
    return {
      allowed,
      limit: window.limit,
      remaining: window.free + window.unleased,
      resetAtS,
      retryAfterS: minutes.retryAfterS(window.minute),
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
 * `used` may run past the limit: what was granted is computed from it, and a process that sees a full minute asks no
 * more.
 */
async function leaseSlots(
  sql: Sql,
  companyId: number,
  minute: number,
  want: number,
): Promise<{ minute: number; used: number }> {
  const key = String(companyId);
  const counted = await addToWindows(sql, COMPANY_WINDOWS, minute, new Map([[key, want]]));
  const row = counted.get(key);
  if (!row) throw new Error('a lease of slots was not counted');
  return row;
}
