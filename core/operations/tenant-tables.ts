import type { Sql } from '../platform/database/db.ts';

/** A table with rows of companies, in the schema of messaging or of billing. */
export interface TenantTable {
  /** As SQL names it, e.g. `messages` or `billing.cards`. */
  name: string;
  /** The column that names the company. */
  companyColumn: string;
  columns: { name: string; type: string }[];
  /** An unlogged table holds counts of the running minute and calls in progress: a standby has none of it. */
  isUnlogged: boolean;
}

/** Every table that carries a company, and the companies themselves: from the catalogue, so that none is forgotten. */
export async function tenantTables(sql: Sql): Promise<TenantTable[]> {
  const { rows } = await sql.query<{
    schema: string;
    name: string;
    columns: TenantTable['columns'];
    unlogged: boolean;
  }>(
    `SELECT n.nspname AS schema, c.relname AS name, c.relpersistence = 'u' AS unlogged,
       json_agg(json_build_object('name', a.attname, 'type', a.atttypid::regtype::text) ORDER BY a.attnum) AS columns
     FROM pg_class c
     JOIN pg_namespace n ON n.oid = c.relnamespace
     JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
     WHERE n.nspname IN (current_schema(), 'billing') AND c.relkind IN ('r', 'p') AND NOT c.relispartition
     GROUP BY n.nspname, c.relname, c.relpersistence
     HAVING bool_or(a.attname = 'company_id') OR (n.nspname = current_schema() AND c.relname = 'companies')
     ORDER BY n.nspname = 'billing', c.relname`,
  );
  return rows.map(({ schema, name, columns, unlogged }) => ({
    name: schema === 'billing' ? `billing.${name}` : name,
    companyColumn: columns.some((column) => column.name === 'company_id') ? 'company_id' : 'id',
    columns,
    isUnlogged: unlogged,
  }));
}

/** The tables that still have rows of a company, with their number. */
export async function rowsLeft(sql: Sql, companyId: number): Promise<Record<string, number>> {
  const left: Record<string, number> = {};
  for (const { name, companyColumn } of await tenantTables(sql)) {
    const { rows } = await sql.query<{ count: number }>(
      `SELECT count(*) AS count FROM ${name} WHERE ${companyColumn} = $1`,
      [companyId],
    );
    if (rows[0]!.count > 0) left[name] = rows[0]!.count;
  }
  return left;
}
