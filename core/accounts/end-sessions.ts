import type { Sql } from '../platform/db.ts';

/** Revokes every refresh token of a user. JWTs already out are the caller's to judge. */
export async function endSessions(sql: Sql, userId: number, at: Date): Promise<void> {
  await sql.query('UPDATE refresh_families SET revoked_at = $2 WHERE user_id = $1 AND revoked_at IS NULL', [
    userId,
    at,
  ]);
}

/** Revokes one session's refresh tokens. Only its own user's: a foreign id changes nothing. */
export async function endSession(
  sql: Sql,
  input: { userId: number; familyId: string; at: Date },
): Promise<void> {
  await sql.query(
    `UPDATE refresh_families SET revoked_at = $3 WHERE id = $2 AND user_id = $1 AND revoked_at IS NULL`,
    [input.userId, input.familyId, input.at],
  );
}
