import { forgetCached } from '../../access/forget-cached.ts';
import type { Sql } from '../../platform/db.ts';

/**
 * Revokes every refresh token of a user and notifies every process: caches drop the user, and live connections
 * authenticate again. JWTs that were already issued are left to the caller.
 */
export async function endSessions(sql: Sql, userId: number, at: Date): Promise<void> {
  await sql.query('UPDATE refresh_families SET revoked_at = $2 WHERE user_id = $1 AND revoked_at IS NULL', [
    userId,
    at,
  ]);
  await forgetCached(sql, `user:${userId}`);
}

/**
 * Revokes the refresh tokens of one session, and notifies like {@link endSessions}. Only of its own user: a foreign
 * id changes nothing.
 */
export async function endSession(
  sql: Sql,
  input: { userId: number; familyId: string; at: Date },
): Promise<void> {
  await sql.query(
    `UPDATE refresh_families SET revoked_at = $3 WHERE id = $2 AND user_id = $1 AND revoked_at IS NULL`,
    [input.userId, input.familyId, input.at],
  );
  await forgetCached(sql, `user:${input.userId}`);
}
