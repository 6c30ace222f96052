import type { Sql } from '../platform/database/db.ts';
import { MINUTE_MS } from '../platform/durations.ts';
import type { Clock } from '../platform/process/clock.ts';

/** The running minute, by which all limits count. */
export interface Minutes {
  /** Minutes since 1970. */
  current(): number;
  /** Seconds until the minute ends, at least 1: a Retry-After. */
  retryAfterS(minute?: number): number;
}

export function createMinutes(clock: Clock): Minutes {
  const current = () => Math.floor(clock.now().getTime() / MINUTE_MS);
  return {
    current,
    retryAfterS: (minute = current()) =>
      Math.max(1, Math.ceil((minute + 1) * 60 - clock.now().getTime() / 1000)),
  };
}

/**
 * The clocks of two processes may show two minutes, so one that is ahead by this much counts. One that is further ahead was counted before
 * the database's clock was set back: kept, it would refuse its company, or its address, for as long as the clock was wrong.
 */
const AHEAD_MAX = 1;

/** The counts of one key in one minute, in one process. */
export interface Window {
  /** Minutes since 1970. May be ahead of our clock by {@link AHEAD_MAX}: another process's can be. */
  minute: number;
}

function isRunning(window: Window, minute: number): boolean {
  return window.minute >= minute && window.minute <= minute + AHEAD_MAX;
}

/** The windows of a process, by what they count. */
export interface Windows<Key, W extends Window> {
  /** The window of the running minute; it is opened, or begun anew, when there is none. */
  of(key: Key): W;
  delete(key: Key): void;
}

/**
 * Keeps one window for each key. Once a minute those of other minutes are dropped, so that memory follows the active
 * keys; when `max` keys are active in one minute, the oldest that `mayForget` allows are dropped too.
 */
export function createWindows<Key, W extends Window>(options: {
  minutes: Minutes;
  open: (minute: number) => W;
  /** Begins the running minute on a window of another one; the default opens a new one. */
  renew?: (window: W) => void;
  /** True while requests wait on the window: it is kept. */
  isBusy?: (window: W) => boolean;
  max?: number;
  /** Windows of the running minute that may be forgotten; the default is all that are not busy. */
  mayForget?: (window: W) => boolean;
}): Windows<Key, W> {
  const { minutes, open, renew, max = Number.POSITIVE_INFINITY } = options;
  const isBusy = options.isBusy ?? (() => false);
  const mayForget = options.mayForget ?? (() => true);
  const windows = new Map<Key, W>();
  let sweptMinute = 0;

  function add(key: Key, minute: number): W {
    if (sweptMinute !== minute) {
      sweptMinute = minute;
      for (const [other, window] of windows)
        if (!isRunning(window, minute) && !isBusy(window)) windows.delete(other);
    }
    if (windows.size >= max) forgetOldest(Math.ceil(max / 100));
    const window = open(minute);
    windows.set(key, window);
    return window;
  }

  function forgetOldest(count: number): void {
    let left = count;
    for (const [key, window] of windows) {
      if (left === 0) return;
      if (isBusy(window) || !mayForget(window)) continue;
      windows.delete(key);
      left -= 1;
    }
  }

  return {
    of(key) {
      const minute = minutes.current();
      const window = windows.get(key);
      if (window === undefined) return add(key, minute);
      if (isRunning(window, minute)) return window;
      if (!renew) {
        windows.delete(key);
        return add(key, minute);
      }
      window.minute = minute;
      renew(window);
      return window;
    },
    delete: (key) => void windows.delete(key),
  };
}

/** Tables of counts by minute. Both are unlogged: a crash of the database forgets at most the running minute. */
export const ADDRESS_WINDOWS = {
  name: 'address_windows',
  column: 'key_hash',
  /** Keys are 16 bytes in hex. */
  toColumn: "decode(key, 'hex')",
  toKey: "encode(key_hash, 'hex')",
};
export const COMPANY_WINDOWS = {
  name: 'rate_windows',
  column: 'company_id',
  toColumn: 'key::integer',
  toKey: 'company_id::text',
};

/** SQL of {@link isRunning}. */
const IS_RUNNING = `w.minute BETWEEN excluded.minute AND excluded.minute + ${AHEAD_MAX}`;

/**
 * Adds to the counts of a minute, all keys in one statement on the primary key, and gives what each has come to. The
 * rows are written in the order of their keys, so that two processes never wait for each other. A row may be a minute
 * ahead, because another process's clock is: then that minute counts.
 */
export async function addToWindows(
  sql: Sql,
  table: typeof ADDRESS_WINDOWS,
  minute: number,
  amounts: ReadonlyMap<string, number>,
): Promise<Map<string, { minute: number; used: number }>> {
  const { rows } = await sql.query<{ key: string; minute: number; used: number }>({
    name: `${table.name}-add`,
    text: `
      INSERT INTO public.${table.name} AS w (${table.column}, minute, used)
      SELECT ${table.toColumn}, $2, amount FROM json_to_recordset($1) AS counted (key text, amount integer)
      ORDER BY ${table.toColumn}
      ON CONFLICT (${table.column}) DO UPDATE
      SET minute = CASE WHEN ${IS_RUNNING} THEN w.minute ELSE excluded.minute END,
          used = CASE WHEN ${IS_RUNNING} THEN w.used ELSE 0 END + excluded.used
      RETURNING ${table.toKey} AS key, minute, used`,
    values: [JSON.stringify(Array.from(amounts, ([key, amount]) => ({ key, amount }))), minute],
  });
  return new Map(rows.map(({ key, ...counted }) => [key, counted]));
}
