import type { BillingType } from '@posthorn/contract/billing/subscriptions.ts';
import type { Sql } from '../../platform/database/db.ts';
import { oneRow } from '../../platform/database/one-row.ts';
import { CHARGE_STATUS_OF, type ChargeEvent, isPayment } from '../charges/charge-status.ts';
import { writeCharge } from '../charges/write-charge.ts';
import { localDate } from '../dates.ts';
import type { CompanyTime } from '../lock-company.ts';
import type { Fact } from '../subscriptions/derive-state.ts';
import { reopenSubscription } from '../subscriptions/reopen-subscription.ts';
import { decidePaidPlan, swapPlan } from '../subscriptions/swap-plan.ts';
import type { EventPayment } from './provider-event.ts';

export interface EventSubscription {
  id: number;
  company_id: number;
  billing_type: BillingType;
  created_at: Date;
}

/**
 * Writes what an event says of a charge, as a fact; the states follow from the facts when the subscription
 * is settled, which the caller does after. The payment of a charge (a card's is confirmed long before it is received)
 * decides once which plan and cycle it pays for, and its first receipt, once, swaps the plan. The caller holds
 * the company's row. True when this is the first word of the charge's payment.
 */
export async function applyChargeEvent(
  sql: Sql,
  input: {
    subscription: EventSubscription;
    event: ChargeEvent;
    payment: EventPayment;
    fact: Fact;
    time: CompanyTime;
  },
): Promise<boolean> {
  const { subscription, fact, time } = input;
  const id = await writeDetails(sql, input);
  const status = CHARGE_STATUS_OF[input.event];
  const known = await readPayment(sql, id);
  // Known already: an event that is processed again.
  await sql.query(
    `INSERT INTO billing.charge_facts (seq, charge_id, status, at, known_at) VALUES ($1, $2, $3, $4, $5)
     ON CONFLICT (seq) DO NOTHING`,
    [fact.seq, id, status, fact.at, time.now],
  );
  if (!isPayment(status) || known.isReceived) return false;
  const paidPlan = await decidePaidPlan(sql, { chargeId: id, subscriptionId: subscription.id });
  if (input.payment.paidOn !== null) await notePaidOn(sql, id, input.payment.paidOn);
  await reopenSubscription(sql, subscription.id);
  if (status === 'received')
    await swapPlan(sql, {
      subscriptionId: subscription.id,
      chargeId: id,
      paidPlan,
      receipt: fact,
      now: time.now,
    });
  return !known.isPaid;
}

async function readPayment(sql: Sql, chargeId: number): Promise<{ isPaid: boolean; isReceived: boolean }> {
  const { rows } = await sql.query<{ paid: boolean; received: boolean }>(
    `SELECT count(*) > 0 AS paid, count(*) FILTER (WHERE status = 'received') > 0 AS received
     FROM billing.charge_facts WHERE charge_id = $1 AND status IN ('confirmed', 'received')`,
    [chargeId],
  );
  const { paid, received } = oneRow(rows);
  return { isPaid: paid, isReceived: received };
}

/** A boleto's payment is told when the bank has cleared it, days after its day. */
async function notePaidOn(sql: Sql, chargeId: number, paidOn: string): Promise<void> {
  await sql.query(
    `UPDATE billing.charges SET paid_on = least(paid_on, $2::date) WHERE id = $1 AND billing_type = 'boleto'`,
    [chargeId, paidOn],
  );
}

/** Details that the payload leaves out stay as they were, or as the subscription says. */
async function writeDetails(
  sql: Sql,
  input: { subscription: EventSubscription; payment: EventPayment; fact: Fact; time: CompanyTime },
): Promise<number> {
  const { subscription, payment, time } = input;
  const { rows } = await sql.query<{
    amount_cents: number;
    net_value_cents: number | null;
    due_date: string;
    billing_type: BillingType;
    invoice_url: string | null;
    bank_slip_url: string | null;
  }>(
    `SELECT amount_cents, net_value_cents, due_date::text, billing_type, invoice_url, bank_slip_url
     FROM billing.charges WHERE asaas_payment_id = $1`,
    [payment.id],
  );
  const known = rows[0];
  return writeCharge(sql, {
    companyId: subscription.company_id,
    subscriptionId: subscription.id,
    payment: {
      id: payment.id,
      billingType: payment.billingType ?? known?.billing_type ?? subscription.billing_type,
      valueCents: payment.valueCents ?? known?.amount_cents ?? (await priceOf(sql, subscription.id)),
      netValueCents: payment.netValueCents ?? known?.net_value_cents ?? null,
      dueDate: payment.dueDate ?? known?.due_date ?? localDate(input.fact.at),
      invoiceUrl: payment.invoiceUrl ?? known?.invoice_url ?? null,
      bankSlipUrl: payment.bankSlipUrl ?? known?.bank_slip_url ?? null,
    },
    at: input.fact.at,
    now: time.now,
    realNow: new Date(time.now.getTime() - time.offsetMs),
  });
}

async function priceOf(sql: Sql, subscriptionId: number): Promise<number> {
  const { rows } = await sql.query<{ cents: number }>(
    `SELECT sum(quantity * unit_price_cents)::int AS cents FROM billing.subscription_items
     WHERE subscription_id = $1 AND removed_at IS NULL`,
    [subscriptionId],
  );
  return oneRow(rows).cents;
}
