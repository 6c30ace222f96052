import type { Sql } from '@posthorn/core/platform/database/db.ts';

/** A digest of every row of every table, by table: equal before and after says that nothing was changed. */
export async function databaseState(sql: Sql): Promise<Map<string, string>> {
  const { rows } = await sql.query<{ name: string }>(
    `SELECT format('%I.%I', n.nspname, c.relname) AS name
     FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
     WHERE c.relkind IN ('r', 'p') AND NOT c.relispartition AND n.nspname IN ('public', 'billing') ORDER BY 1`,
  );
  const state = new Map<string, string>();
  for (const { name } of rows) {
    const digest = await sql.query<{ digest: string }>(
      `SELECT count(*) || ' ' || coalesce(md5(string_agg(row::text, ' ' ORDER BY row::text)), '') AS digest
       FROM ${name} AS row`,
    );
    state.set(name, digest.rows[0]!.digest);
  }
  return state;
}
