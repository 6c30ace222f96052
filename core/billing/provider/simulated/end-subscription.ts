import type { Sql } from '../../../platform/database/db.ts';
import type { Clock } from '../../../platform/process/clock.ts';
import {
  customerNow,
  loadPayments,
  loadSimulatedSubscription,
  queuePaymentEvent,
  queueSubscriptionEvent,
} from './simulated-records.ts';

/** Deletes a subscription and the charges nobody has paid, and says so. False when it is gone already. */
export async function endSubscription(sql: Sql, clock: Clock, id: string): Promise<boolean> {
  const subscription = await loadSimulatedSubscription(sql, id);
  if (!subscription || subscription.deleted) return false;
  const now = await customerNow(sql, clock, subscription.customer_id);
  await sql.query('UPDATE billing.simulated_subscriptions SET deleted = true WHERE id = $1', [id]);
  for (const payment of await loadPayments(sql, { subscriptionId: id })) {
    if (!['PENDING', 'OVERDUE', 'REPROVED'].includes(payment.status)) continue;
    await sql.query(`UPDATE billing.simulated_payments SET status = 'DELETED' WHERE id = $1`, [payment.id]);
    await queuePaymentEvent(sql, 'PAYMENT_DELETED', { ...payment, status: 'DELETED' }, now);
  }
  await queueSubscriptionEvent(sql, 'SUBSCRIPTION_DELETED', { ...subscription, deleted: true }, now);
  return true;
}
