import type { BillingCycle } from '@posthorn/contract/billing/catalog.ts';
import type { Sql } from '../../platform/database/db.ts';
import { oneRow } from '../../platform/database/one-row.ts';
import { addonPriceCents } from '../catalog/prices.ts';

export interface NextInvoice {
  planCode: string;
  planName: string;
  cycle: BillingCycle;
  valueCents: number;
}

/**
 * The next invoice of a subscription: the scheduled plan, else the present one, and all add-ons. Until the plan changes, each
 * line has the price that its company sees, also when the catalog has another one by now.
 */
export async function readNextInvoice(sql: Sql, subscriptionId: number): Promise<NextInvoice> {
  const { rows } = await sql.query<{
    code: string;
    display_name: string;
    cycle: BillingCycle;
    price_cents: number;
    present_cents: number | null;
    addons: { quantity: number; presentCents: number; priceCents: number; cycle: BillingCycle }[] | null;
  }>(
    `SELECT plan.code, plan.display_name, plan.cycle, plan.price_cents,
            (SELECT unit_price_cents FROM billing.subscription_items item
             WHERE item.subscription_id = subscription.id AND item.type = 'plan' AND item.code = plan.code
               AND item.removed_at IS NULL) AS present_cents,
            (SELECT json_agg(json_build_object('quantity', item.quantity, 'presentCents', item.unit_price_cents,
               'priceCents', addon.price_cents, 'cycle', addon.cycle))
             FROM billing.subscription_items item JOIN billing.addons addon ON addon.code = item.code
             WHERE item.subscription_id = subscription.id AND item.type = 'addon' AND item.removed_at IS NULL) AS addons
     FROM billing.subscriptions subscription
     JOIN billing.plans plan ON plan.code = coalesce(subscription.next_plan_code, subscription.plan_code)
     WHERE subscription.id = $1`,
    [subscriptionId],
  );
  const { code, display_name, cycle, price_cents, present_cents, addons } = oneRow(rows);
  const stays = present_cents !== null;
  const valueCents = (addons ?? []).reduce(
    (sum, addon) => sum + addon.quantity * (stays ? addon.presentCents : addonPriceCents(addon, cycle)),
    present_cents ?? price_cents,
  );
  return { planCode: code, planName: display_name, cycle, valueCents };
}
