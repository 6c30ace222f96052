import { apiError } from '@posthorn/contract/api-error.ts';
import { LOGIN_FAILURES_MAX } from '@posthorn/contract/limits.ts';
import type { QueryResultRow } from 'pg';
import { type AuditAction, recordAudit } from '../../audit/record-audit.ts';
import { oneRow } from '../../platform/database/one-row.ts';
import { MINUTE_MS } from '../../platform/durations.ts';
import {
  ACCOUNT_USER_COLUMNS,
  type AccountUser,
  holdProvenUser,
  isUsersSuperadmin,
} from '../account-user.ts';
import type { AccountDeps } from '../deps.ts';
import { issueSession, type SessionGrant } from './issue-session.ts';
import { countFailure, lockedError, lockoutKey, passLockout } from './login-lockout.ts';
import { loginKeys, memoryBounds, REMEMBERED_COLUMNS, rememberLogin } from './remember-logins.ts';

type LoginDeps = Pick<AccountDeps, 'db' | 'clock' | 'log' | 'jwt' | 'passwords' | 'digest' | 'settings'>;

/**
 * Logs in with e-mail and password. Known, unknown, locked and social-only accounts take the same steps (one
 * look-up, one argon2id, one count), so that neither bytes nor time tell them apart. `address` decides the turn in
 * the queue of hashes: a better one where a login succeeded lately. Throws 401 INVALID_CREDENTIALS, 429
 * ACCOUNT_LOCKED, 403 ACCOUNT_DELETED or COMPANY_SUSPENDED (ACC-6, ACC-8).
 */
export async function logIn(
  deps: LoginDeps,
  input: { email: string; password: string; address: string; traceId: string | null },
): Promise<SessionGrant> {
  const key = lockoutKey(deps, input.email);
  const keys = loginKeys(deps, input);
  const { user, lockedUntil, remembered, fresh } = await findByEmail(deps, input.email, key, keys);
  const right = await deps.passwords.verifyPassword(user?.password_hash ?? null, input.password, {
    key: input.address,
    isTrusted: remembered > 0,
  });
  if (!right || !user || lockedUntil) {
    const { lockedBefore, locksNow } = await countFailure(deps, deps.db, {
      key,
      max: LOGIN_FAILURES_MAX,
    });
    noteFailure(deps, { key, user, traceId: input.traceId });
    if (locksNow && user) noteLock(deps, user, input.traceId);
    throw lockedBefore ? lockedError(deps, lockedBefore) : apiError('INVALID_CREDENTIALS');
  }
  if (user.company_status === 'deleted') throw apiError('ACCOUNT_DELETED');
  const superadmin = isUsersSuperadmin(user, deps.settings.superadminEmails);
  if (user.company_status !== 'active' && !superadmin) throw apiError('COMPANY_SUSPENDED');
  const grant = await deps.db.transaction(async (sql) => {
    await passLockout(deps, sql, key);
    const proven = await holdProvenUser(sql, user);
    if (!proven) throw apiError('INVALID_CREDENTIALS');
    await recordAudit(sql, {
      companyId: user.company_id,
      userId: user.id,
      action: 'session.login',
      detail: { method: 'password' },
      traceId: input.traceId,
      at: deps.clock.now(),
    });
    return issueSession(deps, sql, proven);
  });
  if (fresh < keys.length) await noteSuccess(deps, keys);
  return grant;
}

type LoginRow = Partial<AccountUser> &
  QueryResultRow & { locked_until: Date | null; remembered: number; fresh: number };

/** Always one row, so that a miss costs what a hit costs. */
async function findByEmail(
  deps: LoginDeps,
  email: string,
  key: Buffer,
  keys: Buffer[],
): Promise<{ user: AccountUser | null; lockedUntil: Date | null; remembered: number; fresh: number }> {
  const now = deps.clock.now();
  const { rows } = await deps.db.query<LoginRow>({
    name: 'login-find',
    text: `SELECT ${ACCOUNT_USER_COLUMNS}, f.locked_until, ${REMEMBERED_COLUMNS}
      FROM (SELECT $1::text AS email, $2::bytea AS email_hash) asked
      LEFT JOIN users u ON lower(u.email) = asked.email
      LEFT JOIN companies c ON c.id = u.company_id
      LEFT JOIN login_failures f ON f.email_hash = asked.email_hash AND f.locked_until > $3`,
    values: [email, key, now, keys, ...memoryBounds(now)],
  });
  const row = oneRow(rows);
  const { locked_until: lockedUntil, remembered, fresh } = row;
  return { user: row.id ? (row as AccountUser) : null, lockedUntil, remembered, fresh };
}

/** Best effort: it only buys a better place in the queue next time. */
async function noteSuccess(deps: LoginDeps, keys: Buffer[]): Promise<void> {
  await rememberLogin(deps.db, keys, deps.clock.now()).catch((err) =>
    deps.log.warn({ err }, 'remembering a login failed'),
  );
}

/** A failed login is audited once in this time, or guessing would flood the log. */
const FAILURE_NOTED_EVERY_MS = 15 * MINUTE_MS;

/**
 * One statement for known and unknown addresses, best effort and not awaited: only known accounts have an audit
 * log, and timing must not show that.
 */
function noteFailure(
  deps: LoginDeps,
  failure: { key: Buffer; user: AccountUser | null; traceId: string | null },
): void {
  const now = deps.clock.now();
  const { key, user, traceId } = failure;
  deps.db
    .query(
      `WITH noted AS (
         UPDATE login_failures SET audited_at = $2
         WHERE email_hash = $1 AND (audited_at IS NULL OR audited_at <= $3) RETURNING 1
       )
       INSERT INTO audit_log (company_id, user_id, action, trace_id, created_at)
       SELECT $4::int, $5::int, $6, $7::uuid, $2 FROM noted WHERE $4::int IS NOT NULL`,
      [
        key,
        now,
        new Date(now.getTime() - FAILURE_NOTED_EVERY_MS),
        user?.company_id ?? null,
        user?.id ?? null,
        'session.login_failed' satisfies AuditAction,
        traceId,
      ],
    )
    .catch((err) => deps.log.warn({ err, trace_id: traceId }, 'recording a failed login failed'));
}

/** Best effort and not awaited: only known accounts have an audit log, and timing must not show that. */
function noteLock(deps: LoginDeps, user: AccountUser, traceId: string | null): void {
  recordAudit(deps.db, {
    companyId: user.company_id,
    userId: user.id,
    action: 'session.locked',
    traceId,
    at: deps.clock.now(),
  }).catch((err) => deps.log.warn({ err, trace_id: traceId }, 'recording a lockout failed'));
}
