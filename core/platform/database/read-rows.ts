import type { EntityManager } from '@mikro-orm/postgresql';
import type { Sql } from './db.ts';

/**
 * Reads rows by plain SQL in whichever transaction the caller is in, one of the ORM included. Parameters (`$1`, `$2`)
 * stand in their order, each once.
 */
export async function readRows<Row extends object>(
  sql: Sql | EntityManager,
  text: string,
  values: unknown[],
): Promise<Row[]> {
  if ('execute' in sql) return sql.execute<Row[]>(text.replace(/\$\d+/g, '?'), values);
  const { rows } = await sql.query<Row>(text, values);
  return rows;
}
