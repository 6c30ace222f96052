import type { EntityManager } from '@mikro-orm/postgresql';
import { apiError } from '@posthorn/contract/api-error.ts';
import type { Sql } from '../platform/db.ts';
import { readRows } from '../platform/read-rows.ts';
import type { Principal } from './principal.ts';

interface UserRow {
  changed_at_ms: number;
  password_changed_jti: string | null;
}

/** Waits for a take-over that is under way; what it reads afterwards is the state that the take-over left. */
const HOLD_USER = `SELECT floor(extract(epoch FROM password_changed_at) * 1000)::bigint AS changed_at_ms,
    password_changed_jti
  FROM users WHERE id = $1 FOR SHARE`;
/** A separate statement: one that waited for a lock would still see the key as it was before. */
const KEY_HOLDS = 'SELECT 1 AS holds FROM api_tokens WHERE id = $1 AND revoked_at IS NULL';

/**
 * Asserts that an authenticated principal is still valid, and keeps it valid until the transaction ends. For what
 * outlives the credentials that made it (keys, users, webhooks): without it, a request that is under way during a
 * take-over would leave its author a way in. Must be called before any other lock is taken. Throws 401
 * TOKEN_INVALID or PASSWORD_CHANGED.
 */
export async function holdPrincipal(sql: Sql | EntityManager, principal: Principal): Promise<void> {
  const [user] = await readRows<UserRow>(sql, HOLD_USER, [principal.userId]);
  if (!user) throw apiError('TOKEN_INVALID');
  if (principal.tokenId !== null) {
    const [key] = await readRows(sql, KEY_HOLDS, [principal.tokenId]);
    if (!key) throw apiError('TOKEN_INVALID');
    return;
  }
  const { passwordChangedAtMs, jti } = principal;
  if (passwordChangedAtMs === undefined || user.changed_at_ms <= passwordChangedAtMs) return;
  if (jti === null || user.password_changed_jti !== jti) throw apiError('PASSWORD_CHANGED');
}
