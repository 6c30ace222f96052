import { apiError } from '@posthorn/contract/api-error.ts';
import type { SimulatedAction } from '@posthorn/contract/billing/simulator.ts';
import type { Db, Sql } from '../../../platform/database/db.ts';
import type { Clock } from '../../../platform/process/clock.ts';
import { localDate } from '../../dates.ts';
import { endSubscription } from './end-subscription.ts';
import {
  customerNow,
  loadPayments,
  loadSimulatedSubscription,
  makePayment,
  queuePaymentEvent,
  type SimulatedPayment,
  type SimulatedStatus,
} from './simulated-records.ts';

interface Rule {
  /** The statuses that the action applies to; of several, the first one named wins. */
  from: readonly SimulatedStatus[];
  to: SimulatedStatus;
  events: (payment: SimulatedPayment) => string[];
  /** The oldest charge is paid first; money comes back from the newest. */
  pick: 'oldest' | 'newest';
}

const UNPAID: readonly SimulatedStatus[] = ['OVERDUE', 'REPROVED', 'PENDING'];

const RULES: Record<Exclude<SimulatedAction, 'delete-subscription'>, Rule> = {
  pay: {
    from: [...UNPAID, 'CONFIRMED', 'CHARGEBACK_REQUESTED'],
    to: 'RECEIVED',
    // PIX is received at once; cards and boletos are confirmed before.
    events: (payment) =>
      payment.billing_type === 'pix' || !UNPAID.includes(payment.status)
        ? ['PAYMENT_RECEIVED']
        : ['PAYMENT_CONFIRMED', 'PAYMENT_RECEIVED'],
    pick: 'oldest',
  },
  confirm: { from: UNPAID, to: 'CONFIRMED', events: () => ['PAYMENT_CONFIRMED'], pick: 'oldest' },
  overdue: { from: ['PENDING'], to: 'OVERDUE', events: () => ['PAYMENT_OVERDUE'], pick: 'oldest' },
  fail: {
    from: ['PENDING', 'OVERDUE'],
    to: 'REPROVED',
    events: () => ['PAYMENT_REPROVED_BY_RISK_ANALYSIS'],
    pick: 'oldest',
  },
  refund: {
    from: ['RECEIVED', 'CONFIRMED'],
    to: 'REFUNDED',
    events: () => ['PAYMENT_REFUNDED'],
    pick: 'newest',
  },
  chargeback: {
    from: ['RECEIVED', 'CONFIRMED'],
    to: 'CHARGEBACK_REQUESTED',
    events: () => ['PAYMENT_CHARGEBACK_REQUESTED'],
    pick: 'newest',
  },
  'delete-charge': { from: UNPAID, to: 'DELETED', events: () => ['PAYMENT_DELETED'], pick: 'oldest' },
};

/**
 * Simulates an action at the provider, which then sends its webhooks. Throws 404 NOT_FOUND for a payment that is
 * not the company's, 409 CONFLICT when there is nothing that it can happen to.
 */
export async function simulateAction(
  deps: { db: Db; clock: Clock },
  input: { companyId: number; action: SimulatedAction; paymentId: string | null },
): Promise<{ paymentId: string | null; events: string[] }> {
  const { action } = input;
  return deps.db.transaction(async (sql) => {
    const customerId = await customerOf(sql, input.companyId);
    if (action === 'delete-subscription') return endNewest(deps, sql, customerId);
    const rule = RULES[action];
    const payment = await choose(sql, { customerId, rule, paymentId: input.paymentId });
    const events = await movePayment(sql, {
      payment,
      to: rule.to,
      events: rule.events(payment),
      at: await customerNow(sql, deps.clock, customerId),
    });
    return { paymentId: payment.id, events };
  });
}

/** The payment's new status, its events, and the next charge where this one was the last ahead. */
export async function movePayment(
  sql: Sql,
  input: { payment: SimulatedPayment; to: SimulatedStatus; events: string[]; at: Date },
): Promise<string[]> {
  const { payment, at } = input;
  const paidOn = input.to === 'RECEIVED' || input.to === 'CONFIRMED' ? localDate(at) : payment.paid_on;
  await sql.query('UPDATE billing.simulated_payments SET status = $2, paid_on = $3 WHERE id = $1', [
    payment.id,
    input.to,
    paidOn,
  ]);
  const moved = { ...payment, status: input.to, paid_on: paidOn };
  for (const event of input.events) await queuePaymentEvent(sql, event, moved, at);
  const subscription = await loadSimulatedSubscription(sql, payment.subscription_id);
  const others = await loadPayments(sql, { subscriptionId: payment.subscription_id });
  if (subscription && !subscription.deleted && !others.some((other) => other.status === 'PENDING'))
    await makePayment(sql, subscription, at);
  return input.events;
}

async function customerOf(sql: Sql, companyId: number): Promise<string> {
  const { rows } = await sql.query<{ id: string }>(
    'SELECT asaas_customer_id AS id FROM billing.profiles WHERE company_id = $1',
    [companyId],
  );
  if (!rows[0]) throw apiError('CONFLICT', { message: 'there is no billing profile yet' });
  return rows[0].id;
}

async function choose(
  sql: Sql,
  input: { customerId: string; rule: Rule; paymentId: string | null },
): Promise<SimulatedPayment> {
  const { rule, paymentId } = input;
  const payments = await loadPayments(sql, { customerId: input.customerId });
  const named = paymentId === null ? payments : payments.filter((payment) => payment.id === paymentId);
  if (paymentId !== null && named.length === 0) throw apiError('NOT_FOUND', { message: 'payment not found' });
  for (const status of rule.from) {
    const fitting = named.filter((payment) => payment.status === status);
    const chosen = rule.pick === 'oldest' ? fitting[0] : fitting.at(-1);
    if (chosen) return chosen;
  }
  throw apiError('CONFLICT', { message: `there is no charge that is ${rule.from.join(', ')}` });
}

async function endNewest(
  deps: { clock: Clock },
  sql: Sql,
  customerId: string,
): Promise<{ paymentId: null; events: string[] }> {
  const { rows } = await sql.query<{ id: string }>(
    `SELECT id FROM billing.simulated_subscriptions WHERE customer_id = $1 AND NOT deleted ORDER BY created_at DESC LIMIT 1`,
    [customerId],
  );
  if (!rows[0]) throw apiError('CONFLICT', { message: 'there is no subscription' });
  await endSubscription(sql, deps.clock, rows[0].id);
  return { paymentId: null, events: ['SUBSCRIPTION_DELETED'] };
}
