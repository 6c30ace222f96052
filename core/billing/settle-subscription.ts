import type { ChargeStatus } from '@posthorn/contract/billing/charges.ts';
import type { SubscriptionStatus } from '@posthorn/contract/billing/subscriptions.ts';
import { BILLING_GRACE_DAYS } from '@posthorn/contract/limits.ts';
import type { Sql } from '../platform/db.ts';
import { type ChargeFacts, type DerivedState, deriveState, type Fact } from './derive-state.ts';
import { publishEntitlements } from './entitlements.ts';
import type { CompanyTime } from './lock-company.ts';
import { dropTask, queueTask } from './provider-tasks.ts';

const DAY_MS = 86_400_000;

interface Row {
  id: number;
  company_id: number;
  status: SubscriptionStatus;
  trial_ends_at: Date;
  cancel_at_period_end: boolean;
  cancelled_at: Date | null;
  cancelled_seq: number | null;
  expired_at: Date | null;
  closed_at: Date | null;
  superseded: boolean;
}

interface ChargeRow {
  status: ChargeStatus;
  status_at: Date;
  status_seq: number;
  received_at: Date | null;
  received_seq: number | null;
  covers_until: Date | null;
  overdue_at: Date | null;
  overdue_seq: number | null;
  overdue_known_at: Date | null;
  chargeback_at: Date | null;
  chargeback_seq: number | null;
}

/**
 * Brings a subscription's row to the state that its facts give at this time, and starts what follows from
 * it: news for messaging, the end at the provider. The caller holds the company's row and has written its
 * facts in the same transaction.
 */
export async function settleSubscription(
  sql: Sql,
  input: { subscriptionId: number; time: CompanyTime },
): Promise<SubscriptionStatus> {
  const { subscriptionId, time } = input;
  const row = await loadRow(sql, subscriptionId);
  const state = deriveState(
    {
      trialEndsAt: row.trial_ends_at,
      cancelAtPeriodEnd: row.cancel_at_period_end,
      cancelled: factOf(row.cancelled_at, row.cancelled_seq),
      closed: row.closed_at !== null,
      superseded: row.superseded,
      charges: await loadCharges(sql, subscriptionId),
    },
    time.now,
  );
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
         cancelled_seq = CASE WHEN $6 THEN nextval('billing.fact_seq') ELSE cancelled_seq END,
         next_plan_code = CASE WHEN $2 IN ('cancelled', 'expired') THEN NULL ELSE next_plan_code END
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
    `SELECT id, company_id, status, trial_ends_at, cancel_at_period_end, cancelled_at, cancelled_seq, expired_at,
            closed_at,
            EXISTS (SELECT FROM billing.subscriptions newer
                    WHERE newer.company_id = subscription.company_id AND newer.id > subscription.id) AS superseded
     FROM billing.subscriptions subscription WHERE id = $1`,
    [subscriptionId],
  );
  return rows[0]!;
}

async function loadCharges(sql: Sql, subscriptionId: number): Promise<ChargeFacts[]> {
  const { rows } = await sql.query<ChargeRow>(
    `SELECT status, status_at, status_seq, received_at, received_seq, covers_until, overdue_at, overdue_seq, overdue_known_at,
            chargeback_at, chargeback_seq
     FROM billing.charges WHERE subscription_id = $1`,
    [subscriptionId],
  );
  return rows.map((row) => {
    const overdue = factOf(row.overdue_at, row.overdue_seq);
    return {
      status: row.status,
      statusFact: { at: row.status_at, seq: row.status_seq },
      received: factOf(row.received_at, row.received_seq),
      coversUntil: row.covers_until,
      overdue: overdue && { ...overdue, knownAt: row.overdue_known_at! },
      chargeback: factOf(row.chargeback_at, row.chargeback_seq),
    };
  });
}

function factOf(at: Date | null, seq: number | null): Fact | null {
  return at && seq !== null ? { at, seq } : null;
}
