import { ACCOUNT_RETENTION_DAYS } from '@posthorn/contract/limits.ts';
import type { Db } from '../platform/db.ts';

/** Removes what a company has outside the database, e.g. stored media. Safe to run twice. */
export type PurgeStep = (companyId: number) => Promise<void>;

const BATCH = 5_000;

/** The companies whose 30 days are over (spec 3.3), oldest first. */
export async function companiesToPurge(deps: { db: Db }, now: Date): Promise<number[]> {
  const { rows } = await deps.db.query<{ id: number }>(
    `SELECT id FROM companies WHERE status = 'deleted' AND deleted_at <= $1 ORDER BY deleted_at, id`,
    [new Date(now.getTime() - ACCOUNT_RETENTION_DAYS * 86_400_000)],
  );
  return rows.map((row) => row.id);
}

/**
 * Drops everything a deleted company had: what lies outside first, then its rows of every table that has a
 * `company_id`, found in the catalogue so that a table made later is not forgotten. The company's own row
 * goes last: a purge that was interrupted is simply begun again.
 */
export async function purgeCompany(
  deps: { db: Db; steps: readonly PurgeStep[] },
  companyId: number,
): Promise<void> {
  const { db } = deps;
  for (const step of deps.steps) await step(companyId);
  const tables = await tenantTables(db);
  // Large tables are indexed by instance, not by company.
  const instances = await db.query<{ id: string }>('SELECT id FROM instances WHERE company_id = $1', [
    companyId,
  ]);
  const instanceIds = instances.rows.map((row) => row.id);
  if (instanceIds.length > 0)
    for (const { name, has_instance } of tables)
      if (has_instance)
        await deleteBatches(db, name, 'instance_id = ANY($2::uuid[])', companyId, instanceIds);
  // A row that others still point at has to wait for them: rounds, until one finds nothing in its way.
  let left = tables.map((table) => table.name);
  while (left.length > 0) {
    const blocked: string[] = [];
    for (const name of left) {
      try {
        await deleteBatches(db, name, '$2::int IS NULL', companyId, null);
      } catch (err) {
        if ((err as { code?: string }).code !== '23503') throw err;
        blocked.push(name);
      }
    }
    if (blocked.length === left.length) throw new Error(`rows of ${blocked.join(', ')} hold each other`);
    left = blocked;
  }
  await db.query(`DELETE FROM companies WHERE id = $1 AND status = 'deleted'`, [companyId]);
}

/** Tables of this schema that carry a company, partitions by their parent. Billing's stand in another schema. */
async function tenantTables(db: Db): Promise<{ name: string; has_instance: boolean }[]> {
  const { rows } = await db.query<{ name: string; has_instance: boolean }>(
    `SELECT quote_ident(c.relname) AS name, bool_or(a.attname = 'instance_id') AS has_instance
     FROM pg_class c
     JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname IN ('company_id', 'instance_id') AND NOT a.attisdropped
     WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind IN ('r', 'p') AND NOT c.relispartition
     GROUP BY c.relname
     HAVING bool_or(a.attname = 'company_id')
     ORDER BY c.relname`,
  );
  return rows;
}

/** In bites, so that no lock and no transaction lasts. tableoid: the rows may stand in partitions. */
async function deleteBatches(
  db: Db,
  table: string,
  condition: string,
  companyId: number,
  value: unknown,
): Promise<void> {
  for (;;) {
    const { rowCount } = await db.query(
      `DELETE FROM ${table} WHERE company_id = $1 AND (tableoid, ctid) IN (
         SELECT tableoid, ctid FROM ${table} WHERE company_id = $1 AND ${condition} LIMIT ${BATCH}
       )`,
      [companyId, value],
    );
    if ((rowCount ?? 0) < BATCH) return;
  }
}
