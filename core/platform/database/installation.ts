import type { Sql } from './db.ts';
import { oneRow } from './one-row.ts';

/**
 * Tells this installation from others that may use the same broker, by the cluster and the name of its database. A promoted standby
 * has the same name.
 */
export async function installationOf(sql: Sql): Promise<string> {
  const { rows } = await sql.query<{ installation: string }>(
    `SELECT system_identifier || '/' || current_database() AS installation FROM pg_control_system()`,
  );
  return oneRow(rows).installation;
}
