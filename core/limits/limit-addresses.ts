import { hash } from 'node:crypto';
import type { Clock } from '../platform/clock.ts';
import { createCoalescer } from '../platform/coalesce.ts';
import type { Sql } from '../platform/db.ts';

/** One request counted, or refused, in the running minute of an address. */
export interface AddressSlot {
  allowed: boolean;
  /** Seconds until the next minute begins, at least 1. */
  retryAfterS: number;
}

export interface AddressLimiter {
  /**
   * Counts a request of `address` under `name`, in all processes together. Refusals of an address that is
   * known to be over cost no statement. Rejects when the database can't be asked.
   */
  take(address: string, name: string): AddressSlot | Promise<AddressSlot>;
  /** The same in this process alone, under a limit of its own: for what must answer without the database. */
  takeLocal(address: string, name: string, limit: number): AddressSlot;
  /** Counts something that has happened, and tells how often it has in this minute. */
  note(address: string, name: string): Promise<number>;
  /** Of `take` and of whoever counts failures. */
  readonly limit: number;
  /** The running minute, in minutes since 1970. */
  minute(): number;
  retryAfterS(): number;
}

interface Window {
  /** As the database has last said. */
  used: number;
  /** Requests that are being counted. */
  pending: number;
}

/** Addresses remembered at once; one that is forgotten costs a statement and no more. */
const WINDOWS_MAX = 50_000;
const BATCH_MAX = 500;

/**
 * How often strangers may ask: `limit` requests a minute for each address and name, exactly across processes.
 *
 * The counts are in PostgreSQL, and the requests that arrive together are counted in one statement; what was
 * found full is remembered here. A flood from one address so costs `limit` counts a minute in all, and the
 * hot path (whoever has proven who they are) costs nothing. Addresses are kept as hashes: 16 bytes of a
 * SHA-256 each, so that a row has a known size.
 */
export function createAddressLimiter(deps: { db: Sql; clock: Clock; limit: number }): AddressLimiter {
  const { clock, limit } = deps;
  let windowsMinute = 0;
  const windows = new Map<string, Window>();
  const minute = () => Math.floor(clock.now().getTime() / 60_000);
  const retryAfterS = () => Math.max(1, 60 - Math.floor((clock.now().getTime() / 1000) % 60));
  const counter = createCoalescer<string, number>({
    run: (batch) => count(deps.db, minute(), batch),
    maxBatch: BATCH_MAX,
  });

  function windowOf(key: string): Window {
    const now = minute();
    if (now !== windowsMinute) {
      windowsMinute = now;
      windows.clear();
    }
    let window = windows.get(key);
    if (!window) {
      if (windows.size >= WINDOWS_MAX) windows.delete(windows.keys().next().value as string);
      window = { used: 0, pending: 0 };
      windows.set(key, window);
    }
    return window;
  }

  async function countIn(window: Window, key: string): Promise<number> {
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
    minute,
    retryAfterS,
    take(address, name) {
      const key = `${name} ${address}`;
      const window = windowOf(key);
      if (window.used + window.pending >= limit) return { allowed: false, retryAfterS: retryAfterS() };
      return countIn(window, key).then((used) => ({ allowed: used <= limit, retryAfterS: retryAfterS() }));
    },
    takeLocal(address, name, localLimit) {
      const window = windowOf(`${name} ${address}`);
      window.used += 1;
      return { allowed: window.used <= localLimit, retryAfterS: retryAfterS() };
    },
    note(address, name) {
      const key = `${name} ${address}`;
      return countIn(windowOf(key), key);
    },
  };
}

/**
 * Counts each key of the batch, and gives for each what it is the how-manieth of its minute. The rows are
 * written in the order of their keys, so that two processes never wait for each other. The table is unlogged:
 * a crash of the database forgets at most the running minute.
 */
async function count(db: Sql, minute: number, batch: string[]): Promise<number[]> {
  const hashes = batch.map((key) => hash('sha256', key, 'hex').slice(0, 32));
  const wanted = new Map<string, number>();
  for (const each of hashes) wanted.set(each, (wanted.get(each) ?? 0) + 1);
  const { rows } = await db.query<{ key: string; used: number }>({
    name: 'address-windows-count',
    text: `
      INSERT INTO public.address_windows AS w (key_hash, minute, used)
      SELECT decode(key, 'hex'), $3, wanted FROM unnest($1::text[], $2::int[]) AS asked (key, wanted) ORDER BY key
      ON CONFLICT (key_hash) DO UPDATE
      SET minute = greatest(w.minute, excluded.minute),
          used = CASE WHEN w.minute < excluded.minute THEN 0 ELSE w.used END + excluded.used
      RETURNING encode(key_hash, 'hex') AS key, used`,
    values: [[...wanted.keys()], [...wanted.values()], minute],
  });
  const before = new Map(rows.map(({ key, used }) => [key, used - wanted.get(key)!]));
  return hashes.map((each) => {
    const nth = before.get(each)! + 1;
    before.set(each, nth);
    return nth;
  });
}
