import { forgetCached } from '../../access/forget-cached.ts';
import type { Sql } from '../../platform/database/db.ts';

/**
 * Ends every session of a user, JWTs included, but for the one JWT that may go on (`keepJti`), and notifies every
 * process: caches drop the user, and live connections authenticate again. The caller holds the user's row.
 */
export async function endSessions(
  sql: Sql,
  { userId, at, keepJti = null }: { userId: number; at: Date; keepJti?: string | null },
): Promise<void> {
  await sql.query('UPDATE refresh_families SET revoked_at = $2 WHERE user_id = $1 AND revoked_at IS NULL', [
    userId,
    at,
  ]);
  await sql.query('UPDATE users SET password_changed_jti = $2 WHERE id = $1', [userId, keepJti]);
  await forgetCached(sql, `user:${userId}`);
}

/**
 * Ends one session, JWTs included, and notifies like {@link endSessions}. Only of its own user: a foreign
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
