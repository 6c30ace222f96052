import type { Sql } from '../../platform/database/db.ts';
import { isEndRefuted } from './derive-state.ts';
import { loadFacts, loadRow } from './load-facts.ts';

/**
 * Takes back the end that time alone brought to a subscription, when a payment from before it comes to be known (BIL-6,
 * docs/decisions/0058). Its provider's side was ended and makes no more charges: it goes on to the end of what was paid. The caller holds
 * the company's row, has written the payment, and settles the subscription after.
 */
export async function reopenSubscription(sql: Sql, subscriptionId: number): Promise<void> {
  const row = await loadRow(sql, subscriptionId);
  const isOver = row.cancelled_at !== null || row.closed_at !== null;
  if (!isOver || row.ended_by_clock_at === null || row.superseded) return;
  if (!isEndRefuted(await loadFacts(sql, row), row.ended_by_clock_at)) return;
  await sql.query(
    `UPDATE billing.subscriptions
     SET cancelled_at = NULL, cancelled_seq = NULL, closed_at = NULL, cancel_at_period_end = true
     WHERE id = $1`,
    [subscriptionId],
  );
}
