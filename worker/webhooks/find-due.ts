import type { Sql } from '@posthorn/core/platform/database/db.ts';

export interface DueEndpoint {
  webhookId: number;
  companyId: number;
  /** When its earliest retry is due; null for first attempts, which are due at once. */
  retryAt: Date | null;
}

/**
 * Endpoints that got deliveries recently: rows after `afterId`, which is the highest id seen so far minus a
 * margin for transactions that commit out of order. {@link findAllDue} finds any rows this misses.
 */
export async function findNewlyDue(
  sql: Sql,
  afterId: number,
): Promise<{ endpoints: DueEndpoint[]; highestId: number }> {
  const { rows } = await sql.query<{ webhook_id: number; company_id: number; highest: number }>({
    name: 'deliveries-find-new',
    text: `
      SELECT webhook_id, min(company_id) AS company_id, max(id) AS highest FROM webhook_deliveries
      WHERE id > $1 AND attempts = 0 AND leased_until IS NULL GROUP BY webhook_id`,
    values: [afterId],
  });
  return {
    endpoints: rows.map((row) => ({ webhookId: row.webhook_id, companyId: row.company_id, retryAt: null })),
    highestId: rows.reduce((highest, row) => Math.max(highest, row.highest), 0),
  };
}

/**
 * Every endpoint with deliveries, once for its first attempts and once for its retries: one index probe per
 * endpoint, however many rows it has (PostgreSQL before 18 has no skip scan, so a recursive query steps from
 * endpoint to endpoint).
 */
export async function findAllDue(sql: Sql): Promise<DueEndpoint[]> {
  const { rows } = await sql.query<{ webhook_id: number; company_id: number; retry_at: Date | null }>({
    name: 'deliveries-find-all',
    text: FIND_ALL,
  });
  return rows.map((row) => ({
    webhookId: row.webhook_id,
    companyId: row.company_id,
    retryAt: row.retry_at,
  }));
}

const FIND_ALL = `
WITH RECURSIVE fresh AS (
  (SELECT webhook_id, company_id FROM webhook_deliveries WHERE attempts = 0 ORDER BY webhook_id, id LIMIT 1)
  UNION ALL
  SELECT n.webhook_id, n.company_id FROM fresh CROSS JOIN LATERAL (
    SELECT webhook_id, company_id FROM webhook_deliveries
    WHERE attempts = 0 AND webhook_id > fresh.webhook_id ORDER BY webhook_id, id LIMIT 1) n
), retries AS (
  (SELECT webhook_id, company_id, next_attempt_at FROM webhook_deliveries
   WHERE attempts > 0 ORDER BY webhook_id, next_attempt_at LIMIT 1)
  UNION ALL
  SELECT n.webhook_id, n.company_id, n.next_attempt_at FROM retries CROSS JOIN LATERAL (
    SELECT webhook_id, company_id, next_attempt_at FROM webhook_deliveries
    WHERE attempts > 0 AND webhook_id > retries.webhook_id ORDER BY webhook_id, next_attempt_at LIMIT 1) n
)
SELECT webhook_id, company_id, NULL::timestamptz AS retry_at FROM fresh
UNION ALL
SELECT webhook_id, company_id, next_attempt_at FROM retries`;
