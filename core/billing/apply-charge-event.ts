import type { BillingCycle } from '@posthorn/contract/billing/catalog.ts';
import type { ChargeStatus } from '@posthorn/contract/billing/charges.ts';
import type { BillingType } from '@posthorn/contract/billing/subscriptions.ts';
import type { Sql } from '../platform/db.ts';
import { CHARGE_STATUS_OF, type ChargeEvent, isStronger } from './charge-status.ts';
import { addCycle, localDate, startOfLocalDay } from './dates.ts';
import { type Fact, isLater } from './derive-state.ts';
import type { CompanyTime } from './lock-company.ts';
import type { EventPayment } from './provider-event.ts';
import { swapPlan } from './swap-plan.ts';
import { writeCharge } from './write-charge.ts';

export interface EventSubscription {
  id: number;
  company_id: number;
  billing_type: BillingType;
  created_at: Date;
}

interface ChargeRow {
  id: number;
  status: ChargeStatus;
  status_at: Date;
  due_date: string;
  received_at: Date | null;
  received_seq: number | null;
  covers_until: Date | null;
}

/**
 * Writes what an event says of a charge: its facts, and the status when this event is stronger than those
 * before. The first receipt of a charge has effects of its own, once: the period it pays for, the
 * scheduled plan, the add-ons that waited for an invoice. The caller holds the company's row and settles
 * the subscription after.
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
  const charge = await loadCharge(sql, id);
  const status = CHARGE_STATUS_OF[input.event];
  if (isStronger({ status, at: fact.at }, { status: charge.status, at: charge.status_at }))
    await sql.query('UPDATE billing.charges SET status = $2, status_at = $3, status_seq = $4 WHERE id = $1', [
      id,
      status,
      fact.at,
      fact.seq,
    ]);
  if (status === 'overdue') await writeOverdue(sql, id, fact, time.now);
  if (status === 'chargeback') await writeLater(sql, id, 'chargeback', fact);
  if (status !== 'received') return;
  await writeLater(sql, id, 'received', fact);
  if (charge.covers_until !== null) return;
  const cycle = await swapPlan(sql, { subscriptionId: subscription.id, now: time.now });
  await sql.query('UPDATE billing.charges SET covers_until = $2 WHERE id = $1', [
    id,
    coveredUntil(charge.due_date, fact.at, cycle),
  ]);
}

/** A cycle from the due date; from the payment when that came later. */
function coveredUntil(dueDate: string, paidAt: Date, cycle: BillingCycle): Date {
  const paidOn = localDate(paidAt);
  return startOfLocalDay(addCycle(paidOn > dueDate ? paidOn : dueDate, cycle));
}

/** What the payload leaves out is as it was, or as the subscription says. */
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
  return rows[0]!.cents;
}

async function loadCharge(sql: Sql, id: number): Promise<ChargeRow> {
  const { rows } = await sql.query<ChargeRow>(
    `SELECT id, status, status_at, due_date::text, received_at, received_seq, covers_until
     FROM billing.charges WHERE id = $1`,
    [id],
  );
  return rows[0]!;
}

/** The last notice counts, and the grace period runs from the first. */
async function writeOverdue(sql: Sql, id: number, fact: Fact, now: Date): Promise<void> {
  await writeLater(sql, id, 'overdue', fact);
  await sql.query(
    'UPDATE billing.charges SET overdue_known_at = coalesce(overdue_known_at, $2) WHERE id = $1',
    [id, now],
  );
}

async function writeLater(
  sql: Sql,
  id: number,
  kind: 'received' | 'overdue' | 'chargeback',
  fact: Fact,
): Promise<void> {
  const { rows } = await sql.query<{ at: Date | null; seq: number | null }>(
    `SELECT ${kind}_at AS at, ${kind}_seq AS seq FROM billing.charges WHERE id = $1`,
    [id],
  );
  const { at, seq } = rows[0]!;
  if (at !== null && seq !== null && !isLater(fact, { at, seq })) return;
  await sql.query(`UPDATE billing.charges SET ${kind}_at = $2, ${kind}_seq = $3 WHERE id = $1`, [
    id,
    fact.at,
    fact.seq,
  ]);
}
