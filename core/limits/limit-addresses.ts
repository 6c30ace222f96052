import { hash } from 'node:crypto';
import { createCoalescer } from '../platform/database/coalesce.ts';
import type { Sql } from '../platform/database/db.ts';
import type { Clock } from '../platform/process/clock.ts';
import {
  ADDRESS_WINDOWS,
  addToWindows,
  createMinutes,
  createWindows,
  type Minutes,
  type Window,
} from './minute-windows.ts';

/** One request counted, or refused, in the running minute of an address. */
export interface AddressSlot {
  allowed: boolean;
  /** Seconds until the next minute begins, at least 1. */
  retryAfterS: number;
}

export interface AddressLimiter {
  /**
   * Counts a request of `address` under `name`, in all processes together. Refusing an address that is known to be
   * over its limit costs no statement. Rejects when the database cannot be asked.
   */
  take(address: string, name: string): AddressSlot | Promise<AddressSlot>;
  /** The same in this process alone, under a limit of its own: for what must answer without the database. */
  takeLocal(address: string, name: string, limit: number): AddressSlot;
  /** Counts something that has happened, and tells how often it has in this minute. */
  note(address: string, name: string): Promise<number>;
  /** The limit of `take` and of those who count failures. */
  readonly limit: number;
  readonly minutes: Minutes;
}

interface AddressWindow extends Window {
  /** As the database has last said. */
  used: number;
  /** Requests that are being counted. */
  pending: number;
}

/** Addresses remembered at the same time; one that is forgotten costs a statement and nothing else. */
const WINDOWS_MAX = 50_000;
const BATCH_MAX = 500;

/**
 * Limits requests without credentials: `limit` a minute for each address and name, exactly across processes.
 *
 * The counts are in PostgreSQL, and requests that arrive together are counted in one statement; a full count is
 * remembered here. A flood from one address therefore costs `limit` counts a minute in all, and the hot path (callers
 * with credentials) costs nothing. Addresses are stored as 16 bytes of their SHA-256, so that a row has a known size.
 */
export function createAddressLimiter(deps: { db: Sql; clock: Clock; limit: number }): AddressLimiter {
  const { limit } = deps;
  const minutes = createMinutes(deps.clock);
  const windows = createWindows<string, AddressWindow>({
    minutes,
    max: WINDOWS_MAX,
    open: (minute) => ({ minute, used: 0, pending: 0 }),
  });
  const counter = createCoalescer<string, number>({
    run: (batch) => count(deps.db, minutes.current(), batch),
    maxBatch: BATCH_MAX,
  });

  async function countIn(window: AddressWindow, key: string): Promise<number> {
    window.pending += 1;
    try {
      const used = await counter.push(key);
      window.used = Math.max(window.used, used);
      return used;
    } finally {
      window.pending -= 1;
    }
  }

  return {
    limit,
    minutes,
    take(address, name) {
      const key = `${name} ${address}`;
      const window = windows.of(key);
      if (window.used + window.pending >= limit)
        return { allowed: false, retryAfterS: minutes.retryAfterS() };
      return countIn(window, key).then((used) => ({
        allowed: used <= limit,
        retryAfterS: minutes.retryAfterS(),
      }));
    },
    takeLocal(address, name, localLimit) {
      const window = windows.of(`${name} ${address}`);
      window.used += 1;
      return { allowed: window.used <= localLimit, retryAfterS: minutes.retryAfterS() };
    },
    note(address, name) {
      const key = `${name} ${address}`;
      return countIn(windows.of(key), key);
    },
  };
}

/** Counts each key of the batch, and gives for each its ordinal within the minute. */
async function count(sql: Sql, minute: number, batch: string[]): Promise<number[]> {
  const hashes = batch.map((key) => hash('sha256', key, 'hex').slice(0, 32));
  const amounts = new Map<string, number>();
  for (const each of hashes) amounts.set(each, (amounts.get(each) ?? 0) + 1);
  const counted = await addToWindows(sql, ADDRESS_WINDOWS, minute, amounts);
  const before = new Map(
    Array.from(amounts, ([key, amount]) => [key, (counted.get(key)?.used ?? amount) - amount]),
  );
  return hashes.map((each) => {
    const nth = (before.get(each) ?? 0) + 1;
    before.set(each, nth);
    return nth;
  });
}
