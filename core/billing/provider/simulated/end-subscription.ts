import type { Sql } from '../../../platform/database/db.ts';
import type { Clock } from '../../../platform/process/clock.ts';
import {
  customerNow,
  loadPayments,
  loadSimulatedSubscription,
  queuePaymentEvent,
  queueSubscriptionEvent,
  type SimulatedPayment,
} from './simulated-records.ts';

/** Deletes a subscription and the charges nobody has paid, and says so. False when it is gone already. */
export async function endSubscription(sql: Sql, clock: Clock, id: string): Promise<boolean> {
  const subscription = await loadSimulatedSubscription(sql, id);
  if (!subscription || subscription.deleted) return false;
  const now = await customerNow(sql, clock, subscription.customer_id);
  await sql.query('UPDATE billing.simulated_subscriptions SET deleted = true WHERE id = $1', [id]);
  for (const payment of await loadPayments(sql, { subscriptionId: id })) {
    if (!['PENDING', 'OVERDUE', 'REPROVED'].includes(payment.status)) continue;
    await markDeleted(sql, payment, now);
  }
  await queueSubscriptionEvent(sql, 'SUBSCRIPTION_DELETED', { ...subscription, deleted: true }, now);
  return true;
}

/** Deletes a charge that is pending, and says so. */
export async function deletePending(sql: Sql, clock: Clock, paymentId: string): Promise<void> {
  const [payment] = await loadPayments(sql, { paymentId });
  if (payment?.status !== 'PENDING') return;
  await markDeleted(sql, payment, await customerNow(sql, clock, payment.customer_id));
}

async function markDeleted(sql: Sql, payment: SimulatedPayment, now: Date): Promise<void> {
  await sql.query(`UPDATE billing.simulated_payments SET status = 'DELETED' WHERE id = $1`, [payment.id]);
  await queuePaymentEvent(sql, 'PAYMENT_DELETED', { ...payment, status: 'DELETED' }, now);
}
