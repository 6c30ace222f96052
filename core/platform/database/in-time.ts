import { apiError } from '@posthorn/contract/api-error.ts';
import { withTimeout } from '../process/with-timeout.ts';
import type { Db } from './db.ts';

/** How long a request waits for a database that does not answer. */
export const DATABASE_WAIT_MS = 10_000;

const RETRY_AFTER_S = 2;

/** 503: what was asked of the database may have been done, or be done yet. */
export function noAnswerInTime() {
  return apiError('SERVICE_UNAVAILABLE', {
    cause: new Error('the database did not answer in time'),
    headers: { 'retry-after': String(RETRY_AFTER_S) },
  });
}

/** Gives what `work` gives, or throws {@link noAnswerInTime} at a monotonic time. The work itself goes on. */
export function inTime<T>(work: Promise<T>, untilMs: number): Promise<T> {
  return withTimeout(work, Math.max(0, untilMs - performance.now()), () => {
    throw noAnswerInTime();
  });
}

/**
 * The time that one request waits for the database, {@link DATABASE_WAIT_MS} for all its statements together: a limit
 * for each of them would let their sum grow with their number. Other waiting, for a body or a download, does not count.
 */
export class DatabaseWait {
  #leftMs: number;

  /** `spentMs`: how long the request has waited for the database before. */
  constructor(spentMs = 0) {
    this.#leftMs = DATABASE_WAIT_MS - spentMs;
  }

  /** The monotonic time at which a wait that begins now is over. */
  untilMs(): number {
    return performance.now() + this.#leftMs;
  }

  /** Gives what `work` gives, or throws {@link noAnswerInTime} once the time is used up. The work itself goes on. */
  async for<T>(work: Promise<T>): Promise<T> {
    const untilMs = this.untilMs();
    try {
      return await inTime(work, untilMs);
    } finally {
      this.#leftMs = Math.min(this.#leftMs, untilMs - performance.now());
    }
  }
}

/** The same database, for requests: it answers within `wait`, or each time in {@link DATABASE_WAIT_MS}; or it throws. */
export function answeringInTime(db: Db, wait?: DatabaseWait): Db {
  const within = <T>(work: Promise<T>) => (wait ?? new DatabaseWait()).for(work);
  return {
    pool: db.pool,
    query: (query, values) => within(db.query(query, values)),
    transaction: (work, opening) => within(db.transaction(work, opening)),
    close: () => db.close(),
  };
}
