import { isUuid } from '../platform/ids.ts';

/**
 * The session that a JWT or a refresh token was issued to, both named `<refresh family>.<secret>`: so the end of a
 * session ends all of it (ACC-48), and what belongs to one is told from what belongs to another (ACC-12). Null for
 * another text.
 */
export function familyOf(credential: string): string | null {
  const family = credential.split('.', 1)[0] ?? '';
  return isUuid(family) ? family : null;
}

/**
 * A condition of SQL: the session of a JWT goes on. `u` is the row of its user, `claim` has its `jti` and the `family` of
 * that. The JWT that changed the password goes on without its family (ACC-10), until it is logged out.
 */
export const SESSION_IS_VALID = `(NOT EXISTS (SELECT 1 FROM revoked_jwts r WHERE r.jti = claim.jti)
  AND (u.password_changed_jti IS NOT DISTINCT FROM claim.jti
    OR EXISTS (SELECT 1 FROM refresh_families f
               WHERE f.id = claim.family AND f.user_id = u.id AND f.revoked_at IS NULL)))`;
