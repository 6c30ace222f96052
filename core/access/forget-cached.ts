import type { Sql } from '../platform/database/db.ts';

/** The cache entries that the authenticators of all processes may have to drop. */
export type AuthSubject = `company:${number}` | `user:${number}` | `token:${number}`;

/**
 * Tells every process to drop what it cached. Runs in the caller's transaction: the notification goes out when that
 * commits, or never. A process that cannot receive it (its bus is down) caches nothing.
 */
export async function forgetCached(sql: Sql, ...subjects: AuthSubject[]): Promise<void> {
  if (subjects.length === 0) return;
  await sql.query(`SELECT pg_notify('auth', subject) FROM unnest($1::text[]) AS subject`, [subjects]);
}
