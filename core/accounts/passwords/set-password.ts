import type { Sql } from '../../platform/database/db.ts';
import { endSessions } from '../sessions/end-sessions.ts';

/**
 * Writes a new password and ends everything that the old one granted: refresh tokens, JWTs (all but `keepJti`),
 * open reset links and a pending e-mail change. Runs in the caller's transaction.
 */
export async function setPassword(
  sql: Sql,
  input: { userId: number; passwordHash: string; keepJti: string | null; now: Date },
): Promise<void> {
  const { userId, passwordHash, keepJti, now } = input;
  // Later than the last change by a millisecond at least: JWTs carry it, and one of before must be older.
  await sql.query(
    `UPDATE users SET password_hash = $2, updated_at = $3,
       password_changed_at = greatest($3::timestamptz, date_trunc('milliseconds', password_changed_at) + interval '1 ms')
     WHERE id = $1`,
    [userId, passwordHash, now],
  );
  await endSessions(sql, { userId, at: now, keepJti });
  await sql.query('DELETE FROM password_links WHERE user_id = $1', [userId]);
  await sql.query(`UPDATE email_codes SET code_hash = NULL WHERE user_id = $1 AND purpose = 'change'`, [
    userId,
  ]);
}
