import type { Session } from '@posthorn/contract/messaging/auth.ts';
import type { QueryResultRow } from 'pg';
import type { Role } from '../access/principal.ts';
import { isSuperadmin } from '../access/superadmin.ts';
import type { Sql } from '../platform/database/db.ts';

/** A user with the little of its company that sessions depend on. */
export interface AccountUser extends QueryResultRow {
  id: number;
  company_id: number;
  email: string;
  name: string;
  role: Role;
  is_superadmin: boolean;
  password_hash: string | null;
  email_verified: boolean;
  /** The mailbox of the account is proven: by code, link or provider. */
  email_proven: boolean;
  /** Registered the company. */
  is_founder: boolean;
  password_changed_at_ms: number;
  company_name: string;
  company_slug: string;
  company_status: 'active' | 'suspended' | 'deleted';
}

/** The columns of {@link AccountUser}, from `users u JOIN companies c`. */
export const ACCOUNT_USER_COLUMNS = `u.id, u.company_id, u.email, u.name, u.role, u.is_superadmin, u.password_hash,
  u.email_verified_at IS NOT NULL AS email_verified, u.email_proven_at IS NOT NULL AS email_proven, u.is_founder,
  floor(extract(epoch FROM u.password_changed_at) * 1000)::bigint AS password_changed_at_ms,
  c.name AS company_name, c.slug AS company_slug, c.status AS company_status`;

/** A condition of SQL, of `users`: invited, and has neither chosen a password nor logged in at a provider. */
export const IS_INVITED = 'password_hash IS NULL AND email_verified_at IS NULL';

/** By id, or null. `lock` keeps others from changing the user until the transaction ends. */
export async function findAccountUser(
  sql: Sql,
  userId: number,
  options: { lock?: boolean } = {},
): Promise<AccountUser | null> {
  return readAccountUser(sql, userId, options.lock ? 'FOR UPDATE OF u' : '');
}

/**
 * The user whose password was checked, as of now, and unchanged until the transaction ends. Null when the user is gone
 * or has another password or e-mail by now: that has ended all sessions (ACC-48), and nothing may begin by the old ones
 * after it.
 */
export async function holdProvenUser(sql: Sql, proven: AccountUser): Promise<AccountUser | null> {
  const user = await readAccountUser(sql, proven.id, 'FOR SHARE OF u');
  return user?.password_hash === proven.password_hash && user.email === proven.email ? user : null;
}

async function readAccountUser(sql: Sql, userId: number, lock: string): Promise<AccountUser | null> {
  const { rows } = await sql.query<AccountUser>(
    `SELECT ${ACCOUNT_USER_COLUMNS} FROM users u JOIN companies c ON c.id = u.company_id WHERE u.id = $1 ${lock}`,
    [userId],
  );
  return rows[0] ?? null;
}

export function isUsersSuperadmin(user: AccountUser, allowlist: readonly string[]): boolean {
  return isSuperadmin(
    { companyId: user.company_id, role: user.role, flag: user.is_superadmin, email: user.email },
    allowlist,
  );
}

/** The session payload (ACC-5). */
export function sessionPayload(user: AccountUser, token: string, allowlist: readonly string[]): Session {
  return {
    token,
    company_id: user.company_id,
    user_id: user.id,
    role: user.role,
    email: user.email,
    name: user.name,
    is_superadmin: isUsersSuperadmin(user, allowlist),
    email_verified: user.email_verified,
  };
}
