import type { BillingType } from '@posthorn/contract/billing/subscriptions.ts';
import type { Sql } from '../../platform/database/db.ts';
import { oneRow } from '../../platform/database/one-row.ts';
import { CHARGE_STATUS_OF, type ChargeEvent } from '../charges/charge-status.ts';
import { writeCharge } from '../charges/write-charge.ts';
import { localDate } from '../dates.ts';
import type { CompanyTime } from '../lock-company.ts';
import type { Fact } from '../subscriptions/derive-state.ts';
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
 * the company's row.
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
): Promise<void> {
  const { subscription, fact, time } = input;
  const id = await writeDetails(sql, input);
  const status = CHARGE_STATUS_OF[input.event];
  const isReceived = await wasReceived(sql, id);
  // Known already: an event that is processed again.
  await sql.query(
    `INSERT INTO billing.charge_facts (seq, charge_id, status, at, known_at) VALUES ($1, $2, $3, $4, $5)
     ON CONFLICT (seq) DO NOTHING`,
    [fact.seq, id, status, fact.at, time.now],
  );
  if ((status !== 'confirmed' && status !== 'received') || isReceived) return;
  const paidPlan = await decidePaidPlan(sql, id);
  if (status !== 'received') return;
  await swapPlan(sql, { subscriptionId: subscription.id, paidPlan, receipt: fact, now: time.now });
}

async function wasReceived(sql: Sql, chargeId: number): Promise<boolean> {
  const { rowCount } = await sql.query(
    `SELECT FROM billing.charge_facts WHERE charge_id = $1 AND status = 'received' LIMIT 1`,
    [chargeId],
  );
  return rowCount === 1;
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
