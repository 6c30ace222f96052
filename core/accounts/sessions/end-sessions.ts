import { forgetCached } from '../../access/forget-cached.ts';
import type { Sql } from '../../platform/db.ts';

/**
 * Revokes every refresh token of a user, and says so to every process: caches forget the user, live
 * connections prove themselves anew. JWTs already out are the caller's to judge.
 */
export async function endSessions(sql: Sql, userId: number, at: Date): Promise<void> {
  await sql.query('UPDATE refresh_families SET revoked_at = $2 WHERE user_id = $1 AND revoked_at IS NULL', [
    userId,
    at,
  ]);
  await forgetCached(sql, `user:${userId}`);
}

/** Revokes one session's refresh tokens, and says so like {@link endSessions}. Only its own user's: a foreign id changes nothing. */
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
