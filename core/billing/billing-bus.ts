import type { Sql } from '../platform/database/db.ts';

/** The kinds of work that wake the billing worker. */
export type BillingWork = 'events' | 'intents' | 'tasks' | 'moves' | 'news' | 'webhooks';

/** Notifies the worker when the caller's transaction commits. It may be lost: the worker also looks by timer. */
export async function wakeBillingWorker(sql: Sql, work: BillingWork): Promise<void> {
  await sql.query(`SELECT pg_notify('billing', $1)`, [work]);
}
