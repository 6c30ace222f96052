import { setTimeout as delay } from 'node:timers/promises';
import type { Log } from '../process/log.ts';
import { isUnavailable } from './database-errors.ts';
import { createDb, type Db, type DbOptions, type Sql } from './db.ts';
import { oneRow } from './one-row.ts';

/** A report waits this long for a standby that is behind; a standby in the same place is behind by milliseconds. */
const CATCH_UP_MS = 1_000;
const ASK_EVERY_MS = 15;
/** After that a standby is left alone for a while, so that not every report waits for it. */
const LEFT_ALONE_MS = 10_000;

/** The standby ended a statement that kept it from replaying what the primary had written. */
const RECOVERY_CONFLICT = '40001';

const POOL_SIZE = 4;

/** Reads that may take long, and that nothing waits for but their caller. */
export interface ReportReads extends Sql {
  /** The server that may be asked now: the standby if it has everything that is committed, otherwise the primary. */
  choose(): Promise<Db>;
  /** Closes what was opened for the standby. */
  close(): Promise<void>;
}

/** With the standby at `url` (DATABASE_READ_URL) as {@link createReportReads}; without one all is read from the primary. */
export function openReportReads({
  db,
  url,
  ...options
}: { db: Db; url: string | undefined } & Omit<DbOptions, 'url' | 'poolSize'>): ReportReads {
  if (url === undefined) return { query: db.query, choose: async () => db, close: async () => undefined };
  return createReportReads({
    db,
    standby: createDb({ ...options, url, poolSize: POOL_SIZE }),
    log: options.log,
  });
}

/**
 * Reads reports from `standby` when it has replayed all that was committed at the moment of asking, and
 * otherwise from the primary `db`: what a caller was shown or told once is in every later answer. See docs/decisions/0045.
 */
export function createReportReads(deps: { db: Db; standby: Db; log: Log; catchUpMs?: number }): ReportReads {
  const { db, standby, log, catchUpMs = CATCH_UP_MS } = deps;
  let leftAloneUntilMs = 0;

  function leaveAlone(why: Record<string, unknown>): Db {
    leftAloneUntilMs = performance.now() + LEFT_ALONE_MS;
    log.warn({ ...why, forMs: LEFT_ALONE_MS }, 'reports are read from the primary');
    return db;
  }

  async function choose(): Promise<Db> {
    if (performance.now() < leftAloneUntilMs) return db;
    const { rows } = await db.query<{ lsn: string }>('SELECT pg_current_wal_flush_lsn()::text AS lsn');
    const { lsn } = oneRow(rows);
    const enough = AbortSignal.timeout(catchUpMs);
    try {
      return (await catchesUp(standby, lsn, enough)) ? standby : leaveAlone({ why: 'the standby is behind' });
    } catch (err) {
      return leaveAlone({ err });
    }
  }

  return {
    choose,
    close: () => standby.close(),
    async query(query, values) {
      const chosen = await choose();
      if (chosen === db) return db.query(query, values);
      try {
        return await standby.query(query, values);
      } catch (err) {
        if (!isUnavailable(err) && (err as { code?: unknown }).code !== RECOVERY_CONFLICT) throw err;
        leaveAlone({ err });
        return db.query(query, values);
      }
    },
  };
}

/** Whether it has replayed up to `lsn` before `enough` is over. Throws what is wrong with it. */
async function catchesUp(standby: Db, lsn: string, enough: AbortSignal): Promise<boolean> {
  const isOver = new Promise<false>((resolve) =>
    enough.addEventListener('abort', () => resolve(false), { once: true }),
  );
  const asks = async () => {
    while (!enough.aborted) {
      const { rows } = await standby.query<{ replayed: boolean | null }>(
        'SELECT pg_last_wal_replay_lsn() >= $1::pg_lsn AS replayed WHERE pg_is_in_recovery()',
        [lsn],
      );
      if (rows.length === 0) throw new Error('DATABASE_READ_URL names no standby');
      if (rows[0]!.replayed) return true;
      await delay(ASK_EVERY_MS);
    }
    return false;
  };
  const asked = asks();
  // It may fail after the time is over, when nobody listens any more.
  asked.catch(() => undefined);
  return Promise.race([asked, isOver]);
}
