import type { SubscriptionStatus } from '@posthorn/contract/billing/subscriptions.ts';
import { BILLING_GRACE_DAYS } from '@posthorn/contract/limits.ts';
import type { Sql } from '../../platform/database/db.ts';
import { DAY_MS } from '../../platform/durations.ts';
import { publishEntitlements } from '../entitlements/entitlements.ts';
import type { CompanyTime } from '../lock-company.ts';
import { dropTask, queueTask } from '../provider/provider-tasks.ts';
import { type DerivedState, deriveState } from './derive-state.ts';
import { loadFacts, loadRow, type SettledRow } from './load-facts.ts';

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
  const state = deriveState(await loadFacts(sql, row), time.now);
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

async function writeState(sql: Sql, row: SettledRow, state: DerivedState, time: CompanyTime): Promise<void> {
  const nextMoveAt = state.nextMoveAt && new Date(state.nextMoveAt.getTime() - time.offsetMs);
  await sql.query(
    `UPDATE billing.subscriptions
     SET status = $2, current_period_end = $3, next_move_at = $4, updated_at = $5,
         expired_at = CASE WHEN $2 = 'expired' THEN coalesce(expired_at, $5) END,
         cancelled_at = CASE WHEN $6 THEN $5 ELSE cancelled_at END,
         cancelled_seq = CASE WHEN $6 THEN nextval('billing.fact_seq') ELSE cancelled_seq END,
         ended_by_clock_at = CASE WHEN $6 THEN $5 ELSE ended_by_clock_at END
     WHERE id = $1`,
    [row.id, state.status, state.currentPeriodEnd, nextMoveAt, time.now, state.periodClosed],
  );
}

/**
 * A cancelled subscription ends at the provider at once. An expired one some days later: a boleto that was
 * paid on the last day is known only days after, and that payment still converts the trial.
 */
async function followMove(
  sql: Sql,
  row: SettledRow,
  to: SubscriptionStatus,
  time: CompanyTime,
): Promise<void> {
  const task = { kind: 'end_subscription' as const, companyId: row.company_id, subjectId: row.id };
  const realNow = time.now.getTime() - time.offsetMs;
  if (to === 'cancelled') await queueTask(sql, { ...task, at: new Date(realNow) });
  else if (to === 'expired' && row.closed_at === null)
    await queueTask(sql, { ...task, at: new Date(realNow + BILLING_GRACE_DAYS * DAY_MS) });
  // One that a payment has reopened stays ended there.
  else if (row.status === 'expired' && row.ended_by_clock_at === null) await dropTask(sql, task);
}

async function writeCharges(sql: Sql, { charges }: DerivedState): Promise<void> {
  await sql.query(
    `UPDATE billing.charges charge SET status = new.status, status_at = new.at
     FROM json_to_recordset($1) AS new (id integer, status text, at timestamptz)
     WHERE charge.id = new.id AND (charge.status, charge.status_at) IS DISTINCT FROM (new.status, new.at)`,
    [JSON.stringify(Array.from(charges, ([id, charge]) => ({ id, ...charge })))],
  );
}
