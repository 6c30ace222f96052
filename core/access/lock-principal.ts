import type { EntityManager } from '@mikro-orm/postgresql';
import { apiError } from '@posthorn/contract/api-error.ts';
import type { Sql } from '../platform/database/db.ts';
import { readRows } from '../platform/database/read-rows.ts';
import type { Principal, Role } from './principal.ts';
import { familyOf, SESSION_IS_VALID } from './session-valid.ts';

interface UserRow {
  role: Role;
  changed_at_ms: number;
  password_changed_jti: string | null;
}

const READ_USER = `SELECT role, floor(extract(epoch FROM password_changed_at) * 1000)::bigint AS changed_at_ms,
    password_changed_jti
  FROM users WHERE id = $1`;
/** Waits for a transaction that ends the session or all of them, and then reads what that left. */
const LOCK_USER = `${READ_USER} FOR SHARE`;
/** A separate statement: one that waited for a lock would still see the key as it was before. */
const VALID_KEY = 'SELECT 1 AS holds FROM api_tokens WHERE id = $1 AND revoked_at IS NULL';
/** The session of a refresh token that was stolen ends without the user's row. */
const LOCK_FAMILY = 'SELECT 1 FROM refresh_families WHERE id = $1 FOR SHARE';
const SESSION_OF = `SELECT 1 AS holds FROM (SELECT $1::int AS user_id, $2::text AS jti, $3::uuid AS family) claim
  JOIN users u ON u.id = claim.user_id WHERE ${SESSION_IS_VALID}`;

/** From the least to the most that a role allows (ACC-37). */
const RANKS: readonly Role[] = ['agent', 'admin', 'owner', 'superadmin'];

/**
 * Asserts that an authenticated principal is still valid and has no lower role by now, and keeps both so until the
 * transaction ends. For what outlives the credentials that made it (keys, users, webhooks, schedules, credentials of a
 * network): without it, a request that is under way while its session ends, or its author loses a role, would leave a
 * way in. Must be called before any lock but those on users is taken. Throws 401 TOKEN_INVALID or PASSWORD_CHANGED, 403
 * INSUFFICIENT_PERMISSIONS.
 */
export function lockPrincipal(sql: Sql | EntityManager, principal: Principal): Promise<void> {
  return check(sql, principal, { locks: true });
}

/** The same without locks, for the moment. That a JWT has expired meanwhile does not count. */
export function checkPrincipal(sql: Sql, principal: Principal): Promise<void> {
  return check(sql, principal, { locks: false });
}

async function check(
  sql: Sql | EntityManager,
  principal: Principal,
  { locks }: { locks: boolean },
): Promise<void> {
  const [user] = await readRows<UserRow>(sql, locks ? LOCK_USER : READ_USER, [principal.userId]);
  if (!user) throw apiError('TOKEN_INVALID');
  if (RANKS.indexOf(user.role) < RANKS.indexOf(principal.role)) throw apiError('INSUFFICIENT_PERMISSIONS');
  if (principal.tokenId !== null) {
    const [key] = await readRows(sql, VALID_KEY, [principal.tokenId]);
    if (!key) throw apiError('TOKEN_INVALID');
    return;
  }
  const { passwordChangedAtMs, jti } = principal;
  if (passwordChangedAtMs !== undefined && user.changed_at_ms > passwordChangedAtMs)
    if (jti === null || user.password_changed_jti !== jti) throw apiError('PASSWORD_CHANGED');
  if (jti === null) return;
  const family = familyOf(jti);
  if (locks) await readRows(sql, LOCK_FAMILY, [family]);
  const [session] = await readRows(sql, SESSION_OF, [principal.userId, jti, family]);
  if (!session) throw apiError('TOKEN_INVALID');
}
