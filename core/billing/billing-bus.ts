import type { Sql } from '../platform/db.ts';

/** What the billing worker may have to look at. */
export type BillingWork = 'events' | 'intents' | 'tasks' | 'moves' | 'news' | 'webhooks';

/** Wakes the worker when the caller's transaction commits. A hint only: it also looks by timer. */
export async function wakeBillingWorker(sql: Sql, work: BillingWork): Promise<void> {
  await sql.query(`SELECT pg_notify('billing', $1)`, [work]);
}
