import { ACCOUNT_RETENTION_DAYS } from '@posthorn/contract/limits.ts';
import { lockAcceptOrder } from '../../guard/accept-order.ts';
import { isDeadlock, isForeignKeyViolation } from '../../platform/database/database-errors.ts';
import type { Db, Sql } from '../../platform/database/db.ts';
import { DAY_MS } from '../../platform/durations.ts';

const BATCH = 5_000;
const DEADLOCK_TRIES = 5;

/** The companies whose 30 days are over (ACC-26), oldest first. */
export async function companiesToPurge(deps: { db: Db }, now: Date): Promise<number[]> {
  const { rows } = await deps.db.query<{ id: number }>(
    `SELECT id FROM companies WHERE status = 'deleted' AND deleted_at <= $1 ORDER BY deleted_at, id`,
    [new Date(now.getTime() - ACCOUNT_RETENTION_DAYS * DAY_MS)],
  );
  return rows.map((row) => row.id);
}

/**
 * Deletes everything of a deleted company: its rows in every table that has a `company_id`, found in the catalogue
 * so that a table added later is not forgotten. Stored media goes with its rows: triggers note the objects for the
 * media job to remove (core/migrations/messaging/0001-baseline/media.ts). The company's own row is deleted last, so
 * that an interrupted purge simply starts again.
 */
export async function purgeCompany(deps: { db: Db }, companyId: number): Promise<void> {
  const { db } = deps;
  const tables = await tenantTables(db);
  // Large tables are indexed by instance, not by company.
  const instances = await db.query<{ id: string }>(INSTANCES, [companyId]);
  const instanceIds = instances.rows.map((row) => row.id);
  const deleteByInstance = (name: string) =>
    deleteBatches(db, name, 'instance_id = ANY($2::uuid[])', companyId, instanceIds);
  if (instanceIds.length > 0)
    for (const { name, has_instance } of tables) if (has_instance) await deleteByInstance(name);
  // All instances with messages are known; without them, each round would read the messages of all companies.
  const others = tables.filter(({ name }) => name !== 'messages');
  await deleteRounds(db, others, companyId);
  await db.transaction(async (sql) => {
    // Workers close what sessions there still are, and record nothing more.
    await sql.query(`SELECT pg_notify('instance', id) FROM unnest($1::text[]) AS id`, [instanceIds]);
    // A send that was being accepted holds the order of its instance until it is written.
    await lockAcceptOrder(sql, instanceIds);
  });
  await deleteByInstance('messages');
  await deleteRounds(db, others, companyId);
  await db.query(`DELETE FROM companies WHERE id = $1 AND status = 'deleted'`, [companyId]);
}

/**
 * Also those that are deleted, whose messages stay: from one instance to the next by the index, as each batch of messages would
 * otherwise be looked for among those of all companies.
 */
const INSTANCES = `
WITH RECURSIVE held AS (
  (SELECT instance_id, company_id FROM messages ORDER BY instance_id LIMIT 1)
  UNION ALL
  SELECT next.* FROM held CROSS JOIN LATERAL (
    SELECT instance_id, company_id FROM messages WHERE instance_id > held.instance_id ORDER BY instance_id LIMIT 1
  ) AS next
)
SELECT id FROM instances WHERE company_id = $1
UNION
SELECT instance_id FROM held WHERE company_id = $1`;

/** Repeats until a round deletes nothing: rows wait for others that reference them, and triggers may write new ones. */
async function deleteRounds(db: Db, tables: readonly { name: string }[], companyId: number): Promise<void> {
  for (;;) {
    let deleted = 0;
    const blocked: string[] = [];
    for (const { name } of tables) {
      try {
        deleted += await deleteBatches(db, name, '$2::int IS NULL', companyId, null);
      } catch (err) {
        if (!isForeignKeyViolation(err)) throw err;
        blocked.push(name);
      }
    }
    if (deleted > 0) continue;
    if (blocked.length > 0) throw new Error(`rows of ${blocked.join(', ')} hold each other`);
    return;
  }
}

/** Tables of this schema that carry a company, partitions by their parent. Billing's are in another schema. */
async function tenantTables(sql: Sql): Promise<{ name: string; has_instance: boolean }[]> {
  const { rows } = await sql.query<{ name: string; has_instance: boolean }>(
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

/**
 * In batches, so that no lock and no transaction lasts long; returns the number of rows. By tableoid, because the rows
 * may be in partitions.
 */
async function deleteBatches(
  sql: Sql,
  table: string,
  condition: string,
  companyId: number,
  value: unknown,
): Promise<number> {
  let deleted = 0;
  for (;;) {
    const rowCount = await withoutDeadlock(
      sql,
      `DELETE FROM ${table} WHERE company_id = $1 AND (tableoid, ctid) IN (
         SELECT tableoid, ctid FROM ${table} WHERE company_id = $1 AND ${condition} LIMIT ${BATCH}
       )`,
      [companyId, value],
    );
    deleted += rowCount;
    if (rowCount < BATCH) return deleted;
  }
}

/** Workers lock rows in orders of their own while they record: the loser of a deadlock begins again. Gives the number of rows. */
async function withoutDeadlock(sql: Sql, text: string, values: unknown[]): Promise<number> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      const { rowCount } = await sql.query(text, values);
      return rowCount ?? 0;
    } catch (err) {
      if (!isDeadlock(err) || attempt === DEADLOCK_TRIES) throw err;
    }
  }
}
