import type { Sql } from '@posthorn/core/platform/database/db.ts';

/** Whether as many statements of this database as that wait for a lock. */
export async function someoneWaits(sql: Sql, count = 1): Promise<boolean> {
  const { rows } = await sql.query<{ count: number }>(
    `SELECT count(*)::integer AS count FROM pg_locks l JOIN pg_stat_activity a ON a.pid = l.pid
     WHERE NOT l.granted AND a.datname = current_database()`,
  );
  return rows[0]!.count >= count;
}
