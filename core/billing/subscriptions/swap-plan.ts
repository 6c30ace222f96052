import type { BillingCycle } from '@posthorn/contract/billing/catalog.ts';
import type { Sql } from '../../platform/database/db.ts';
import { oneRow } from '../../platform/database/one-row.ts';
import { addonPriceCents } from '../catalog/prices.ts';
import { type Fact, isLater } from './derive-state.ts';

/**
 * Decides, with the first word of its payment, which plan a charge pays for: the scheduled one, else the present one.
 * Gives its code. One that was there when the plan changed has its cycle already.
 */
export async function decidePaidPlan(sql: Sql, chargeId: number): Promise<string> {
  const { rows } = await sql.query<{ code: string }>(
    `UPDATE billing.charges charge SET paid_plan_code = plan.code, paid_cycle = coalesce(charge.paid_cycle, plan.cycle)
     FROM billing.subscriptions subscription, billing.plans plan
     WHERE charge.id = $1 AND subscription.id = charge.subscription_id
       AND plan.code = coalesce(charge.paid_plan_code, subscription.next_plan_code, subscription.plan_code)
     RETURNING plan.code`,
    [chargeId],
  );
  return oneRow(rows).code;
}

/**
 * Applies a payment to the items: a scheduled plan takes its place (BIL-8), add-ons are priced by its cycle,
 * and those that waited for an invoice have had it. A card that paid for the present plan, and whose money comes after
 * another one was scheduled, leaves that to the payment after it. Changes nothing on a subscription that was over when it
 * was paid.
 */
export async function swapPlan(
  sql: Sql,
  input: { subscriptionId: number; paidPlan: string; receipt: Fact; now: Date },
): Promise<void> {
  const { rows } = await sql.query<{
    code: string;
    cycle: BillingCycle;
    price_cents: number;
    closed: boolean;
    cancelled_at: Date | null;
    cancelled_seq: number | null;
  }>(
    `SELECT plan.code, plan.cycle, plan.price_cents, subscription.closed_at IS NOT NULL AS closed,
            subscription.cancelled_at, subscription.cancelled_seq
     FROM billing.subscriptions subscription
     JOIN billing.plans plan ON plan.code = CASE WHEN subscription.plan_code = $2 THEN subscription.plan_code
       ELSE coalesce(subscription.next_plan_code, subscription.plan_code) END
     WHERE subscription.id = $1`,
    [input.subscriptionId, input.paidPlan],
  );
  const plan = oneRow(rows);
  const cancelled = plan.cancelled_at && { at: plan.cancelled_at, seq: plan.cancelled_seq! };
  if (plan.closed || (cancelled && isLater(input.receipt, cancelled))) return;
  await sql.query(
    `UPDATE billing.subscriptions
     SET plan_code = $2, next_plan_code = nullif(next_plan_code, $2), updated_at = $3 WHERE id = $1`,
    [input.subscriptionId, plan.code, input.now],
  );
  await sql.query(
    `UPDATE billing.subscription_items SET code = $2, unit_price_cents = CASE WHEN code = $2 THEN unit_price_cents ELSE $3 END
     WHERE subscription_id = $1 AND type = 'plan' AND removed_at IS NULL`,
    [input.subscriptionId, plan.code, plan.price_cents],
  );
  const addons = await sql.query<{ id: number; price_cents: number; cycle: BillingCycle }>(
    `SELECT item.id, addon.price_cents, addon.cycle
     FROM billing.subscription_items item JOIN billing.addons addon ON addon.code = item.code
     WHERE item.subscription_id = $1 AND item.type = 'addon' AND item.removed_at IS NULL`,
    [input.subscriptionId],
  );
  for (const { id, price_cents, cycle } of addons.rows)
    await sql.query(
      'UPDATE billing.subscription_items SET unit_price_cents = $2, scheduled_for_next_cycle = false WHERE id = $1',
      [id, addonPriceCents({ priceCents: price_cents, cycle }, plan.cycle)],
    );
}
