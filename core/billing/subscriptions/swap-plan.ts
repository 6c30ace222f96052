import type { BillingCycle } from '@posthorn/contract/billing/catalog.ts';
import type { Sql } from '../../platform/database/db.ts';
import { oneRow } from '../../platform/database/one-row.ts';
import { addonPriceCents } from '../catalog/prices.ts';
import { type Fact, isLater } from './derive-state.ts';
import { readNextInvoice } from './next-invoice.ts';

/**
 * Decides, with the first word of its payment, which plan a charge pays for: the scheduled one, else the present one.
 * Gives its code. One that was there when the plan changed has its cycle already, unless it was paid at the price of the next
 * invoice: the provider had given it that, and its answer was lost. It gives none to what is overdue.
 */
export async function decidePaidPlan(
  sql: Sql,
  { chargeId, subscriptionId }: { chargeId: number; subscriptionId: number },
): Promise<string> {
  const next = await readNextInvoice(sql, subscriptionId);
  const { rows } = await sql.query<{ code: string }>(
    `UPDATE billing.charges charge
     SET paid_plan_code = coalesce(paid_plan_code, $2),
         paid_cycle = CASE
           WHEN paid_plan_code IS NULL AND amount_cents = $4
             AND NOT EXISTS (SELECT FROM billing.charge_facts WHERE charge_id = charge.id AND status = 'overdue') THEN $3
           ELSE coalesce(paid_cycle, $3) END
     WHERE id = $1 RETURNING paid_plan_code AS code`,
    [chargeId, next.planCode, next.cycle, next.valueCents],
  );
  return oneRow(rows).code;
}

/**
 * Applies a payment to the items: a scheduled plan takes its place (BIL-8) and add-ons are priced anew, by its cycle;
 * those that waited for an invoice have had it. The money of a card that had paid before this plan was scheduled brings
 * the plan that it had paid for, unless a later payment was received before it: the scheduled one waits for the next
 * payment. Changes nothing on a subscription that was over when it was paid.
 */
export async function swapPlan(
  sql: Sql,
  input: { subscriptionId: number; chargeId: number; paidPlan: string; receipt: Fact; now: Date },
): Promise<void> {
  const { rows } = await sql.query<{
    code: string;
    cycle: BillingCycle;
    price_cents: number;
    changes: boolean;
    closed: boolean;
    cancelled_at: Date | null;
    cancelled_seq: number | null;
  }>(
    `WITH payments AS (
       SELECT fact.charge_id, min(fact.at) AS at, bool_or(fact.status = 'received') AS is_received
       FROM billing.charge_facts fact JOIN billing.charges charge ON charge.id = fact.charge_id
       WHERE charge.subscription_id = $1 AND fact.status IN ('confirmed', 'received')
       GROUP BY fact.charge_id)
     SELECT plan.code, plan.cycle, plan.price_cents, plan.code <> subscription.plan_code AS changes,
            subscription.closed_at IS NOT NULL AS closed, subscription.cancelled_at, subscription.cancelled_seq
     FROM billing.subscriptions subscription
     JOIN billing.plans plan ON plan.code = CASE
       WHEN subscription.next_plan_code IS NULL THEN subscription.plan_code
       WHEN subscription.next_plan_code <> $2
         AND EXISTS (SELECT FROM payments mine JOIN payments later ON later.at > mine.at AND later.is_received
                     WHERE mine.charge_id = $3) THEN subscription.plan_code
       ELSE $2 END
     WHERE subscription.id = $1`,
    [input.subscriptionId, input.paidPlan, input.chargeId],
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
  await sql.query(
    `UPDATE billing.subscription_items SET scheduled_for_next_cycle = false
     WHERE subscription_id = $1 AND type = 'addon' AND removed_at IS NULL`,
    [input.subscriptionId],
  );
  if (plan.changes) await priceAddons(sql, input.subscriptionId, plan.cycle);
}

async function priceAddons(sql: Sql, subscriptionId: number, planCycle: BillingCycle): Promise<void> {
  const addons = await sql.query<{ id: number; price_cents: number; cycle: BillingCycle }>(
    `SELECT item.id, addon.price_cents, addon.cycle
     FROM billing.subscription_items item JOIN billing.addons addon ON addon.code = item.code
     WHERE item.subscription_id = $1 AND item.type = 'addon' AND item.removed_at IS NULL`,
    [subscriptionId],
  );
  for (const { id, price_cents, cycle } of addons.rows)
    await sql.query('UPDATE billing.subscription_items SET unit_price_cents = $2 WHERE id = $1', [
      id,
      addonPriceCents({ priceCents: price_cents, cycle }, planCycle),
    ]);
}
