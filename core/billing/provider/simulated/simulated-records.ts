import { randomInt } from 'node:crypto';
import type { BillingCycle } from '@posthorn/contract/billing/catalog.ts';
import type { BillingType } from '@posthorn/contract/billing/subscriptions.ts';
import type { Sql } from '../../../platform/database/db.ts';
import type { Clock } from '../../../platform/process/clock.ts';
import { wakeBillingWorker } from '../../billing-bus.ts';
import { addCycle, formatProviderTime, localDate } from '../../dates.ts';

export type SimulatedStatus =
  | 'PENDING'
  | 'OVERDUE'
  | 'REPROVED'
  | 'CONFIRMED'
  | 'RECEIVED'
  | 'REFUNDED'
  | 'CHARGEBACK_REQUESTED'
  | 'DELETED';

export interface SimulatedPayment {
  id: string;
  subscription_id: string;
  customer_id: string;
  billing_type: BillingType;
  status: SimulatedStatus;
  value_cents: number;
  due_date: string;
  paid_on: string | null;
  created_at: Date;
  external_reference: string | null;
}

export interface SimulatedSubscription {
  id: string;
  external_reference: string | null;
  customer_id: string;
  billing_type: BillingType;
  value_cents: number;
  cycle: BillingCycle;
  next_due_date: string;
  description: string | null;
  deleted: boolean;
  created_at: Date;
}

const PROVIDER_TYPES: Record<BillingType, string> = {
  pix: 'PIX',
  boleto: 'BOLETO',
  credit_card: 'CREDIT_CARD',
};
/** Never resolves: no page stands behind a simulated invoice. */
const PAGES = 'https://simulated-provider.invalid';

export function newProviderId(prefix: 'cus' | 'sub' | 'pay' | 'evt'): string {
  const digits = Array.from({ length: 4 }, () => String(randomInt(10_000)).padStart(4, '0')).join('');
  return `${prefix}_${digits}`;
}

/** The time at the provider for a customer: the clock of its company (see advance-clock.ts). */
export async function customerNow(sql: Sql, clock: Clock, customerId: string): Promise<Date> {
  const { rows } = await sql.query<{ clock_offset_ms: number }>(
    `SELECT clock_offset_ms FROM billing.accounts JOIN billing.profiles USING (company_id) WHERE asaas_customer_id = $1`,
    [customerId],
  );
  return new Date(clock.now().getTime() + (rows[0]?.clock_offset_ms ?? 0));
}

export async function loadPayments(
  sql: Sql,
  by: { subscriptionId?: string; customerId?: string; paymentId?: string },
): Promise<SimulatedPayment[]> {
  const { rows } = await sql.query<SimulatedPayment>(
    `SELECT payment.id, payment.subscription_id, payment.customer_id, payment.billing_type, payment.status,
            payment.value_cents, payment.due_date::text, payment.paid_on::text, payment.created_at,
            subscription.external_reference
     FROM billing.simulated_payments payment
     JOIN billing.simulated_subscriptions subscription ON subscription.id = payment.subscription_id
     WHERE ($1::text IS NULL OR payment.subscription_id = $1)
       AND ($2::text IS NULL OR payment.customer_id = $2)
       AND ($3::text IS NULL OR payment.id = $3)
     ORDER BY payment.due_date, payment.id`,
    [by.subscriptionId ?? null, by.customerId ?? null, by.paymentId ?? null],
  );
  return rows;
}

export async function loadSimulatedSubscription(sql: Sql, id: string): Promise<SimulatedSubscription | null> {
  const { rows } = await sql.query<SimulatedSubscription>(
    `SELECT id, external_reference, customer_id, billing_type, value_cents, cycle, next_due_date::text, description,
            deleted, created_at
     FROM billing.simulated_subscriptions WHERE id = $1 FOR UPDATE`,
    [id],
  );
  return rows[0] ?? null;
}

/** The subscription's next charge: there is always one ahead, as the provider makes them. */
export async function makePayment(sql: Sql, subscription: SimulatedSubscription, at: Date): Promise<void> {
  const id = newProviderId('pay');
  await sql.query(
    `INSERT INTO billing.simulated_payments (id, subscription_id, customer_id, billing_type, status, value_cents, due_date, created_at)
     VALUES ($1, $2, $3, $4, 'PENDING', $5, $6, $7)`,
    [
      id,
      subscription.id,
      subscription.customer_id,
      subscription.billing_type,
      subscription.value_cents,
      subscription.next_due_date,
      at,
    ],
  );
  await sql.query('UPDATE billing.simulated_subscriptions SET next_due_date = $2 WHERE id = $1', [
    subscription.id,
    addCycle(subscription.next_due_date, subscription.cycle),
  ]);
  const [payment] = await loadPayments(sql, { paymentId: id });
  await queuePaymentEvent(sql, 'PAYMENT_CREATED', payment!, at);
}

/** A charge as the provider shows it, by its API and in its webhooks. */
export function paymentObject(payment: SimulatedPayment): Record<string, unknown> {
  const key = payment.id.replace('pay_', '');
  return {
    object: 'payment',
    id: payment.id,
    dateCreated: localDate(payment.created_at),
    customer: payment.customer_id,
    subscription: payment.subscription_id,
    value: payment.value_cents / 100,
    netValue: netCents(payment) / 100,
    description: null,
    billingType: PROVIDER_TYPES[payment.billing_type],
    status: payment.status === 'DELETED' ? 'PENDING' : payment.status,
    dueDate: payment.due_date,
    originalDueDate: payment.due_date,
    paymentDate: payment.paid_on,
    clientPaymentDate: payment.paid_on,
    invoiceUrl: invoiceUrl(payment),
    invoiceNumber: key.slice(-8),
    bankSlipUrl: bankSlipUrl(payment),
    externalReference: payment.external_reference,
    deleted: payment.status === 'DELETED',
  };
}

export function invoiceUrl(payment: SimulatedPayment): string {
  return `${PAGES}/i/${payment.id.replace('pay_', '')}`;
}

export function bankSlipUrl(payment: SimulatedPayment): string | null {
  return payment.billing_type === 'boleto' ? `${PAGES}/b/pdf/${payment.id.replace('pay_', '')}` : null;
}

/** The fees are about what such a provider takes. */
export function netCents(payment: Pick<SimulatedPayment, 'billing_type' | 'value_cents'>): number {
  const feeCents =
    payment.billing_type === 'credit_card' ? 49 + Math.round(payment.value_cents * 0.0299) : 199;
  return Math.max(0, payment.value_cents - feeCents);
}

export async function queuePaymentEvent(
  sql: Sql,
  event: string,
  payment: SimulatedPayment,
  at: Date,
): Promise<void> {
  await queueWebhook(sql, { event, at, payment: paymentObject(payment) });
}

export async function queueSubscriptionEvent(
  sql: Sql,
  event: string,
  subscription: SimulatedSubscription,
  at: Date,
): Promise<void> {
  await queueWebhook(sql, {
    event,
    at,
    subscription: {
      object: 'subscription',
      id: subscription.id,
      dateCreated: localDate(subscription.created_at),
      customer: subscription.customer_id,
      value: subscription.value_cents / 100,
      nextDueDate: subscription.next_due_date,
      cycle: subscription.cycle === 'monthly' ? 'MONTHLY' : 'YEARLY',
      description: subscription.description,
      billingType: PROVIDER_TYPES[subscription.billing_type],
      deleted: subscription.deleted,
      status: subscription.deleted ? 'INACTIVE' : 'ACTIVE',
      externalReference: subscription.external_reference,
    },
  });
}

async function queueWebhook(
  sql: Sql,
  input: { event: string; at: Date } & Record<string, unknown>,
): Promise<void> {
  const { event, at, ...subject } = input;
  const body = { id: newProviderId('evt'), event, dateCreated: formatProviderTime(at), ...subject };
  await sql.query('INSERT INTO billing.simulated_webhooks (body, next_attempt_at) VALUES ($1, $2)', [
    JSON.stringify(body),
    at,
  ]);
  await wakeBillingWorker(sql, 'webhooks');
}
