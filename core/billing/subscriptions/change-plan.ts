import { apiError } from '@posthorn/contract/api-error.ts';
import type { Sql } from '../../platform/database/db.ts';
import type { BillingDeps } from '../deps.ts';
import { lockCompany } from '../lock-company.ts';
import { queueTask } from '../provider/provider-tasks.ts';
import { isChangeable, loadOwn, type SubscriptionRow } from './load-own.ts';

/**
 * Schedules a plan: it is swapped by the next PAYMENT_RECEIVED (BIL-10), and the provider is told the new
 * price so that the payment is one for the new plan. Throws 404 SUBSCRIPTION_NOT_FOUND, PLAN_NOT_FOUND, 400
 * SUBSCRIPTION_NOT_ACTIVE, ALREADY_ON_PLAN.
 */
export async function changePlan(
  deps: Pick<BillingDeps, 'db' | 'clock'>,
  input: { companyId: number; subscriptionId: number; newPlanCode: string },
): Promise<void> {
  await deps.db.transaction(async (sql) => {
    const { now } = await lockCompany(sql, input.companyId, deps.clock);
    const subscription = await loadOwn(sql, input);
    if (!isChangeable(subscription.status)) throw apiError('SUBSCRIPTION_NOT_ACTIVE');
    const plan = await sql.query('SELECT FROM billing.plans WHERE code = $1 AND offered', [
      input.newPlanCode,
    ]);
    if (plan.rowCount === 0) throw apiError('PLAN_NOT_FOUND');
    if (subscription.plan_code === input.newPlanCode) throw apiError('ALREADY_ON_PLAN');
    await keepCycles(sql, subscription);
    await sql.query('UPDATE billing.subscriptions SET next_plan_code = $2, updated_at = $3 WHERE id = $1', [
      subscription.id,
      input.newPlanCode,
      now,
    ]);
    await queueTask(sql, {
      kind: 'sync_subscription',
      companyId: input.companyId,
      subjectId: subscription.id,
      at: deps.clock.now(),
    });
  });
}

/**
 * A charge pays for a cycle of the plan whose price it has. The provider gives the new price to those that are pending when it
 * learns of the change (run-provider-tasks.ts): not to one that is overdue, or that was paid before and is not told yet.
 */
async function keepCycles(sql: Sql, subscription: SubscriptionRow): Promise<void> {
  await sql.query(
    `UPDATE billing.charges charge SET paid_cycle = plan.cycle FROM billing.plans plan
     WHERE charge.subscription_id = $1 AND charge.paid_plan_code IS NULL AND charge.paid_cycle IS NULL AND plan.code = $2`,
    [subscription.id, subscription.next_plan_code ?? subscription.plan_code],
  );
}
