import { apiError } from '@posthorn/contract/api-error.ts';
import type { CancelBody } from '@posthorn/contract/billing/subscriptions.ts';
import type { BillingDeps } from '../deps.ts';
import { lockCompany } from '../lock-company.ts';
import { isChangeable, loadOwn } from './load-own.ts';
import { settleSubscription } from './settle-subscription.ts';

/**
 * Cancels at once, or at the end of the period by default (BIL-11). The provider stops charging as soon
 * as it can be reached; until then its payments bring nothing back. Cancelling a cancelled one changes
 * nothing. Throws 404 SUBSCRIPTION_NOT_FOUND, 400 SUBSCRIPTION_NOT_ACTIVE for a suspended or expired one.
 */
export async function cancelSubscription(
  deps: Pick<BillingDeps, 'db' | 'clock'>,
  input: { companyId: number; subscriptionId: number; how: CancelBody },
): Promise<void> {
  const { how } = input;
  const immediate = how.at_period_end == null ? (how.immediate ?? false) : !how.at_period_end;
  await deps.db.transaction(async (sql) => {
    const time = await lockCompany(sql, input.companyId, deps.clock);
    const subscription = await loadOwn(sql, input);
    if (subscription.status === 'cancelled') return;
    if (!isChangeable(subscription.status)) throw apiError('SUBSCRIPTION_NOT_ACTIVE');
    await sql.query(
      `UPDATE billing.subscriptions
       SET cancel_reason = $2, updated_at = $3,
           cancel_at_period_end = cancel_at_period_end OR NOT $4,
           cancelled_at = CASE WHEN $4 THEN $3::timestamptz END,
           cancelled_seq = CASE WHEN $4 THEN nextval('billing.fact_seq') END,
           ended_by_clock_at = CASE WHEN NOT $4 THEN ended_by_clock_at END
       WHERE id = $1`,
      [subscription.id, how.reason || 'user_request', time.now, immediate],
    );
    await settleSubscription(sql, { subscriptionId: subscription.id, time });
  });
}
