import type { BillingCycle } from '@posthorn/contract/billing/catalog.ts';
import type { ChargeStatus } from '@posthorn/contract/billing/charges.ts';
import type { BillingType, SubscriptionStatus } from '@posthorn/contract/billing/subscriptions.ts';
import type { Sql } from '../../platform/database/db.ts';
import { oneRow } from '../../platform/database/one-row.ts';
import type { Fact, SubscriptionFacts } from './derive-state.ts';

/** A subscription as it was settled last, with what was decided about it since. */
export interface SettledRow {
  id: number;
  company_id: number;
  status: SubscriptionStatus;
  billing_type: BillingType;
  trial_ends_at: Date;
  cancel_at_period_end: boolean;
  cancelled_at: Date | null;
  cancelled_seq: number | null;
  closed_at: Date | null;
  ended_by_clock_at: Date | null;
  superseded: boolean;
}

export async function loadRow(sql: Sql, subscriptionId: number): Promise<SettledRow> {
  const { rows } = await sql.query<SettledRow>(
    `SELECT id, company_id, status, billing_type, trial_ends_at, cancel_at_period_end, cancelled_at, cancelled_seq,
            closed_at, ended_by_clock_at,
            EXISTS (SELECT FROM billing.subscriptions newer
                    WHERE newer.company_id = subscription.company_id AND newer.id > subscription.id) AS superseded
     FROM billing.subscriptions subscription WHERE id = $1`,
    [subscriptionId],
  );
  return oneRow(rows);
}

/** All that the state of a subscription follows from, beside the time. */
export async function loadFacts(sql: Sql, row: SettledRow): Promise<SubscriptionFacts> {
  return {
    billingType: row.billing_type,
    trialEndsAt: row.trial_ends_at,
    cancelAtPeriodEnd: row.cancel_at_period_end,
    cancelled: factOf(row.cancelled_at, row.cancelled_seq),
    closed: row.closed_at !== null,
    superseded: row.superseded,
    ...(await loadCharges(sql, row.id)),
  };
}

async function loadCharges(
  sql: Sql,
  subscriptionId: number,
): Promise<Pick<SubscriptionFacts, 'charges' | 'facts'>> {
  const charges = await sql.query<{
    id: number;
    due_date: string;
    paid_on: string | null;
    paid_cycle: BillingCycle | null;
  }>('SELECT id, due_date::text, paid_on::text, paid_cycle FROM billing.charges WHERE subscription_id = $1', [
    subscriptionId,
  ]);
  const facts = await sql.query<{
    seq: number;
    charge_id: number;
    status: ChargeStatus;
    at: Date;
    known_at: Date;
  }>(
    `SELECT fact.seq, fact.charge_id, fact.status, fact.at, fact.known_at
     FROM billing.charge_facts fact JOIN billing.charges charge ON charge.id = fact.charge_id
     WHERE charge.subscription_id = $1`,
    [subscriptionId],
  );
  return {
    charges: charges.rows.map((row) => ({
      id: row.id,
      dueDate: row.due_date,
      paidOn: row.paid_on,
      paidCycle: row.paid_cycle,
    })),
    facts: facts.rows.map((row) => ({
      seq: row.seq,
      chargeId: row.charge_id,
      status: row.status,
      at: row.at,
      knownAt: row.known_at,
    })),
  };
}

function factOf(at: Date | null, seq: number | null): Fact | null {
  return at && seq !== null ? { at, seq } : null;
}
