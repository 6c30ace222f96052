import type { BillingCycle } from '@posthorn/contract/billing/catalog.ts';
import type { ChargeStatus } from '@posthorn/contract/billing/charges.ts';
import type { BillingType, SubscriptionStatus } from '@posthorn/contract/billing/subscriptions.ts';
import { BILLING_GRACE_DAYS } from '@posthorn/contract/limits.ts';
import type { Sql } from '../../platform/database/db.ts';
import { oneRow } from '../../platform/database/one-row.ts';
import { DAY_MS } from '../../platform/durations.ts';
import { publishEntitlements } from '../entitlements/entitlements.ts';
import type { CompanyTime } from '../lock-company.ts';
import { dropTask, queueTask } from '../provider/provider-tasks.ts';
import { type DerivedState, deriveState, type Fact, type SubscriptionFacts } from './derive-state.ts';

interface Row {
  id: number;
  company_id: number;
  status: SubscriptionStatus;
  billing_type: BillingType;
  trial_ends_at: Date;
  cancel_at_period_end: boolean;
  cancelled_at: Date | null;
  cancelled_seq: number | null;
  expired_at: Date | null;
  closed_at: Date | null;
  superseded: boolean;
}

/**
 * Brings a subscription's row to the state that its facts give at this time, and starts what follows from it:
 * entitlement updates for messaging, the end at the provider. The caller holds the company's row and has written
 * its facts in the same transaction.
 */
export async function settleSubscription(
  sql: Sql,
  input: { subscriptionId: number; time: CompanyTime },
): Promise<SubscriptionStatus> {
  const { subscriptionId, time } = input;
  const row = await loadRow(sql, subscriptionId);
  const state = deriveState(
    {
      billingType: row.billing_type,
      trialEndsAt: row.trial_ends_at,
      cancelAtPeriodEnd: row.cancel_at_period_end,
      cancelled: factOf(row.cancelled_at, row.cancelled_seq),
      closed: row.closed_at !== null,
      superseded: row.superseded,
      ...(await loadCharges(sql, subscriptionId)),
    },
    time.now,
  );
  await writeCharges(sql, state);
  await writeState(sql, row, state, time);
  if (state.status !== row.status) await followMove(sql, row, state.status, time);
  if (!row.superseded) {
    await publishEntitlements(sql, {
      companyId: row.company_id,
      subscriptionId,
      status: state.status,
      now: time.now,
    });
  }
  return state.status;
}

async function writeState(sql: Sql, row: Row, state: DerivedState, time: CompanyTime): Promise<void> {
  const nextMoveAt = state.nextMoveAt && new Date(state.nextMoveAt.getTime() - time.offsetMs);
  await sql.query(
    `UPDATE billing.subscriptions
     SET status = $2, current_period_end = $3, next_move_at = $4, updated_at = $5,
         expired_at = CASE WHEN $2 = 'expired' THEN coalesce(expired_at, $5) END,
         cancelled_at = CASE WHEN $6 THEN $5 ELSE cancelled_at END,
         cancelled_seq = CASE WHEN $6 THEN nextval('billing.fact_seq') ELSE cancelled_seq END
     WHERE id = $1`,
    [row.id, state.status, state.currentPeriodEnd, nextMoveAt, time.now, state.periodClosed],
  );
}

/**
 * A cancelled subscription ends at the provider at once. An expired one some days later: a boleto that was
 * paid on the last day is known only days after, and that payment still converts the trial.
 */
async function followMove(sql: Sql, row: Row, to: SubscriptionStatus, time: CompanyTime): Promise<void> {
  const task = { kind: 'end_subscription' as const, companyId: row.company_id, subjectId: row.id };
  const realNow = time.now.getTime() - time.offsetMs;
  if (to === 'cancelled') await queueTask(sql, { ...task, at: new Date(realNow) });
  else if (to === 'expired' && row.closed_at === null)
    await queueTask(sql, { ...task, at: new Date(realNow + BILLING_GRACE_DAYS * DAY_MS) });
  else if (row.status === 'expired') await dropTask(sql, task);
}

async function loadRow(sql: Sql, subscriptionId: number): Promise<Row> {
  const { rows } = await sql.query<Row>(
    `SELECT id, company_id, status, billing_type, trial_ends_at, cancel_at_period_end, cancelled_at, cancelled_seq, expired_at,
            closed_at,
            EXISTS (SELECT FROM billing.subscriptions newer
                    WHERE newer.company_id = subscription.company_id AND newer.id > subscription.id) AS superseded
     FROM billing.subscriptions subscription WHERE id = $1`,
    [subscriptionId],
  );
  return oneRow(rows);
}

async function loadCharges(
  sql: Sql,
  subscriptionId: number,
): Promise<Pick<SubscriptionFacts, 'charges' | 'facts'>> {
  const charges = await sql.query<{ id: number; due_date: string; paid_cycle: BillingCycle | null }>(
    'SELECT id, due_date::text, paid_cycle FROM billing.charges WHERE subscription_id = $1',
    [subscriptionId],
  );
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
    charges: charges.rows.map((row) => ({ id: row.id, dueDate: row.due_date, paidCycle: row.paid_cycle })),
    facts: facts.rows.map((row) => ({
      seq: row.seq,
      chargeId: row.charge_id,
      status: row.status,
      at: row.at,
      knownAt: row.known_at,
    })),
  };
}

async function writeCharges(sql: Sql, { charges }: DerivedState): Promise<void> {
  await sql.query(
    `UPDATE billing.charges charge SET status = new.status, status_at = new.at
     FROM json_to_recordset($1) AS new (id integer, status text, at timestamptz)
     WHERE charge.id = new.id AND (charge.status, charge.status_at) IS DISTINCT FROM (new.status, new.at)`,
    [JSON.stringify(Array.from(charges, ([id, charge]) => ({ id, ...charge })))],
  );
}

function factOf(at: Date | null, seq: number | null): Fact | null {
  return at && seq !== null ? { at, seq } : null;
}
