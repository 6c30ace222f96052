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

/** The next invoice of a subscription: the scheduled plan, else the present one, and all add-ons. */
export async function readNextInvoice(sql: Sql, subscriptionId: number): Promise<NextInvoice> {
  const { rows } = await sql.query<{
    code: string;
    display_name: string;
    cycle: BillingCycle;
    price_cents: number;
    addons: { quantity: number; priceCents: number; cycle: BillingCycle }[] | null;
  }>(
    `SELECT plan.code, plan.display_name, plan.cycle, plan.price_cents,
            (SELECT json_agg(json_build_object('quantity', item.quantity, 'priceCents', addon.price_cents, 'cycle', addon.cycle))
             FROM billing.subscription_items item JOIN billing.addons addon ON addon.code = item.code
             WHERE item.subscription_id = subscription.id AND item.type = 'addon' AND item.removed_at IS NULL) AS addons
     FROM billing.subscriptions subscription
     JOIN billing.plans plan ON plan.code = coalesce(subscription.next_plan_code, subscription.plan_code)
     WHERE subscription.id = $1`,
    [subscriptionId],
  );
  const { code, display_name, cycle, price_cents, addons } = oneRow(rows);
  const valueCents = (addons ?? []).reduce(
    (sum, addon) => sum + addon.quantity * addonPriceCents(addon, cycle),
    price_cents,
  );
  return { planCode: code, planName: display_name, cycle, valueCents };
}
