import { apiError } from '@posthorn/contract/api-error.ts';
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
export async function inTime<T>(work: Promise<T>, untilMs: number): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(noAnswerInTime()), Math.max(0, untilMs - performance.now()));
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** The same database, for requests: each of its answers comes in {@link DATABASE_WAIT_MS}, or none is waited for. */
export function answeringInTime(db: Db): Db {
  const until = () => performance.now() + DATABASE_WAIT_MS;
  return {
    pool: db.pool,
    query: (query, values) => inTime(db.query(query, values), until()),
    transaction: (work, opening) => inTime(db.transaction(work, opening), until()),
    close: () => db.close(),
  };
}
