import { apiError } from '@posthorn/contract/api-error.ts';
import { SCHEDULED_WAITING_MAX } from '@posthorn/contract/limits.ts';
import { ADVISORY_LOCKS } from '../platform/database/advisory-locks.ts';
import type { Sql } from '../platform/database/db.ts';

/** More than the transactions that a service has under way: so far below the limit, requests need not take turns. */
const CLOSE = 200;

/**
 * Asserts that a company may have one more scheduled send; the caller inserts it in the same transaction. Exact: close to
 * the limit, the requests of a company take turns. Throws 403 PLAN_LIMIT_REACHED (LIM-11).
 */
export async function requireScheduleRoom(sql: Sql, companyId: number): Promise<void> {
  if (!(await haveWaiting(sql, companyId, SCHEDULED_WAITING_MAX - CLOSE))) return;
  await sql.query('SELECT pg_advisory_xact_lock($1, $2)', [ADVISORY_LOCKS.scheduled, companyId]);
  if (!(await haveWaiting(sql, companyId, SCHEDULED_WAITING_MAX))) return;
  throw apiError('PLAN_LIMIT_REACHED', {
    message: `no more than ${SCHEDULED_WAITING_MAX} scheduled sends of a company can wait; cancel some`,
  });
}

/** Looks for the last of so many in the index of those that wait: no count of the table, and never more rows. */
async function haveWaiting(sql: Sql, companyId: number, count: number): Promise<boolean> {
  const { rows } = await sql.query(
    `SELECT 1 FROM scheduled_sends
     WHERE company_id = $1 AND status IN ('scheduled', 'claimed') OFFSET $2 LIMIT 1`,
    [companyId, count - 1],
  );
  return rows.length > 0;
}
