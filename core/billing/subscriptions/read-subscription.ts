import { apiError } from '@posthorn/contract/api-error.ts';
import type { SubscriptionDto, SubscriptionItemDto } from '@posthorn/contract/billing/subscriptions.ts';
import type { Sql } from '../../platform/database/db.ts';
import type { BillingDeps } from '../deps.ts';

type Row = Omit<SubscriptionDto, 'trial_ends_at' | 'current_period_end' | 'items'> & {
  trial_ends_at: Date;
  current_period_end: Date;
};

/**
 * The newest subscription of the company, ended ones included: it is where people see that theirs was
 * cancelled or has expired. Throws 404 SUBSCRIPTION_NOT_FOUND for a company that never had one.
 */
export async function readCurrentSubscription(
  deps: Pick<BillingDeps, 'db'>,
  input: { companyId: number },
): Promise<SubscriptionDto> {
  const found = await loadSubscription(deps.db, input.companyId);
  if (!found) throw apiError('SUBSCRIPTION_NOT_FOUND');
  return found;
}

/** One statement, so that the items are those of the very state that is shown. */
export async function loadSubscription(sql: Sql, companyId: number): Promise<SubscriptionDto | null> {
  const { rows } = await sql.query<Row & { items: SubscriptionItemDto[] | null }>(
    `SELECT subscription.id, subscription.company_id, subscription.plan_code,
            plan.display_name AS plan_display_name, plan.cycle AS plan_cycle,
            subscription.status, subscription.billing_type, subscription.trial_ends_at,
            subscription.current_period_end, subscription.asaas_subscription_id, subscription.cancel_at_period_end,
            next_plan.code AS next_plan_code, next_plan.display_name AS next_plan_display_name,
            next_plan.cycle AS next_plan_cycle,
            (SELECT json_agg(json_build_object(
                'id', item.id, 'type', item.type, 'code', item.code,
                'display_name', coalesce(item_plan.display_name, addon.display_name),
                'quantity', item.quantity, 'unit_price_cents', item.unit_price_cents,
                'scheduled_for_next_cycle', item.scheduled_for_next_cycle)
              ORDER BY item.type DESC, item.id)
             FROM billing.subscription_items item
             LEFT JOIN billing.plans item_plan ON item.type = 'plan' AND item_plan.code = item.code
             LEFT JOIN billing.addons addon ON item.type = 'addon' AND addon.code = item.code
             WHERE item.subscription_id = subscription.id AND item.removed_at IS NULL) AS items
     FROM billing.subscriptions subscription
     JOIN billing.plans plan ON plan.code = subscription.plan_code
     LEFT JOIN billing.plans next_plan
       ON next_plan.code = subscription.next_plan_code AND subscription.cancelled_at IS NULL AND subscription.closed_at IS NULL
     WHERE subscription.company_id = $1
     ORDER BY subscription.id DESC LIMIT 1`,
    [companyId],
  );
  const row = rows[0];
  if (!row) return null;
  return {
    ...row,
    trial_ends_at: row.trial_ends_at.toISOString(),
    current_period_end: row.current_period_end.toISOString(),
    items: row.items ?? [],
  };
}
