import type { Sql } from '../platform/db.ts';

/** What the authenticators of all processes may have to forget. */
export type AuthSubject = `company:${number}` | `user:${number}` | `token:${number}`;

/**
 * Tells every process to forget what it cached. Part of the caller's transaction: it is heard when that
 * commits, or never, and whoever can't hear it (bus down) caches nothing.
 */
export async function forgetCached(sql: Sql, ...subjects: AuthSubject[]): Promise<void> {
  if (subjects.length === 0) return;
  await sql.query(`SELECT pg_notify('auth', subject) FROM unnest($1::text[]) AS subject`, [subjects]);
}
