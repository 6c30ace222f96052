import { apiError } from '@posthorn/contract/api-error.ts';
import { LOGIN_LOCKOUT_S } from '@posthorn/contract/limits.ts';
import type { Sql } from '../../platform/database/db.ts';
import { oneRow } from '../../platform/database/one-row.ts';
import type { AccountDeps } from '../deps.ts';

type LockoutDeps = Pick<AccountDeps, 'clock' | 'digest'>;

/** Known or not, an address is counted by its keyed hash. */
export function lockoutKey(deps: LockoutDeps, email: string): Buffer {
  return deps.digest.digest('login-email', email);
}

/**
 * Counts a wrong password: the last of `max` within 15 minutes locks for 15 more (ACC-8, ACC-22). One statement for every
 * kind of account, locked ones included, so that all cost the same. The answer is decided on the row: of many concurrent
 * guesses, at most `max` are told whether they were wrong. Failing while locked does not prolong the lock, or
 * anybody could keep anybody out.
 */
export async function countFailure(
  deps: Pick<AccountDeps, 'clock'>,
  sql: Sql,
  { key, max }: { key: Buffer; max: number },
): Promise<{ lockedBefore: Date | null; locksNow: boolean }> {
  const now = deps.clock.now();
  const { rows } = await sql.query<{ failures: number; locked_until: Date | null }>({
    name: 'login-failure-count',
    text: `INSERT INTO login_failures AS f (email_hash, failures, window_started_at, failed_at)
       VALUES ($1, 1, $2, ARRAY[$2::timestamptz])
       ON CONFLICT (email_hash) DO UPDATE SET (failures, window_started_at, locked_until, failed_at) = (
         SELECT CASE WHEN f.locked_until > $2 THEN f.failures + 1 ELSE cardinality(recent) END,
                CASE WHEN f.locked_until > $2 THEN f.window_started_at ELSE recent[1] END,
                CASE WHEN f.locked_until > $2 THEN f.locked_until
                     WHEN cardinality(recent) >= $5::int THEN $4::timestamptz END,
                CASE WHEN f.locked_until > $2 THEN f.failed_at ELSE recent END
         FROM (SELECT ARRAY(SELECT failure FROM unnest(f.failed_at) AS failure WHERE failure > $3 AND f.locked_until IS NULL)
                      || $2::timestamptz AS recent) AS counted)
       RETURNING failures, locked_until`,
    values: [key, now, later(now, -LOGIN_LOCKOUT_S), later(now, LOGIN_LOCKOUT_S), max],
  });
  const { failures, locked_until: lockedUntil } = oneRow(rows);
  const locksNow = lockedUntil !== null && failures === max;
  return { lockedBefore: lockedUntil !== null && !locksNow ? lockedUntil : null, locksNow };
}

/** After a correct password: refuses while locked (a concurrent guess may have locked), else clears the count. */
export async function passLockout(
  deps: Pick<AccountDeps, 'clock'>,
  sql: Sql,
  key: Buffer,
  code: LockedCode = 'ACCOUNT_LOCKED',
): Promise<void> {
  const { rows } = await sql.query<{ locked_until: Date | null }>(
    'SELECT locked_until FROM login_failures WHERE email_hash = $1 FOR UPDATE',
    [key],
  );
  const row = rows[0];
  if (!row) return;
  if (row.locked_until && row.locked_until > deps.clock.now())
    throw lockedError(deps, row.locked_until, code);
  await sql.query('DELETE FROM login_failures WHERE email_hash = $1', [key]);
}

type LockedCode = 'ACCOUNT_LOCKED' | 'RATE_LIMITED';

export function lockedError(
  deps: Pick<AccountDeps, 'clock'>,
  until: Date,
  code: LockedCode = 'ACCOUNT_LOCKED',
) {
  const seconds = Math.max(1, Math.ceil((until.getTime() - deps.clock.now().getTime()) / 1000));
  return apiError(code, { headers: { 'retry-after': String(seconds) } });
}

function later(at: Date, seconds: number): Date {
  return new Date(at.getTime() + seconds * 1000);
}
