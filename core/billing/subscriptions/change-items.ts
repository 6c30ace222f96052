import { apiError } from '@posthorn/contract/api-error.ts';
import type { BillingCycle } from '@posthorn/contract/billing/catalog.ts';
import type { AddedItem } from '@posthorn/contract/billing/subscriptions.ts';
import type { Sql } from '../../platform/database/db.ts';
import { addonPriceCents } from '../catalog/prices.ts';
import type { BillingDeps } from '../deps.ts';
import { type CompanyTime, lockCompany } from '../lock-company.ts';
import { queueTask } from '../provider/provider-tasks.ts';
import { isChangeable, loadOwn } from './load-own.ts';
import { settleSubscription } from './settle-subscription.ts';

type ItemDeps = Pick<BillingDeps, 'db' | 'clock'>;

/**
 * Adds units of an add-on: active at once, billed by the next invoice. Adds to the line that is there; the
 * whole line stays within max_quantity. Throws 404 ADDON_NOT_FOUND, SUBSCRIPTION_NOT_FOUND (an ended one
 * too), 400 INVALID_QUANTITY, SUBSCRIPTION_NOT_ACTIVE while suspended, or when it ends with its period.
 */
export async function addItem(
  deps: ItemDeps,
  input: {
    companyId: number;
    subscriptionId: number;
    addonCode: string;
    quantity: number | null | undefined;
  },
): Promise<AddedItem> {
  const quantity = input.quantity || 1;
  if (!Number.isSafeInteger(quantity) || quantity < 1) throw apiError('INVALID_QUANTITY');
  return deps.db.transaction(async (sql) => {
    const time = await lockCompany(sql, input.companyId, deps.clock);
    const subscription = await loadOwn(sql, input);
    if (subscription.status === 'suspended') throw apiError('SUBSCRIPTION_NOT_ACTIVE');
    if (!isChangeable(subscription.status)) throw apiError('SUBSCRIPTION_NOT_FOUND');
    if (subscription.cancel_at_period_end)
      throw apiError('SUBSCRIPTION_NOT_ACTIVE', {
        message: 'the subscription ends with its period, and no invoice would bill the add-on',
      });
    const addon = await loadAddon(sql, input.addonCode, subscription.plan_code);
    if (!addon) throw apiError('ADDON_NOT_FOUND');
    if (quantity > addon.max_quantity) throw apiError('INVALID_QUANTITY');
    const unitPriceCents = addonPriceCents(
      { priceCents: addon.price_cents, cycle: addon.cycle },
      addon.plan_cycle,
    );
    const { rows } = await sql.query<AddedItem>(
      `INSERT INTO billing.subscription_items AS item (company_id, subscription_id, type, code, quantity,
         unit_price_cents, scheduled_for_next_cycle, created_at)
       VALUES ($1, $2, 'addon', $3, $4, $5, true, $6)
       ON CONFLICT (subscription_id, type, code) WHERE removed_at IS NULL DO UPDATE
       SET quantity = item.quantity + $4, unit_price_cents = $5, scheduled_for_next_cycle = true
       WHERE item.quantity + $4 <= $7
       RETURNING id, subscription_id, code AS addon_code, quantity, scheduled_for_next_cycle`,
      [
        input.companyId,
        subscription.id,
        input.addonCode,
        quantity,
        unitPriceCents,
        time.now,
        addon.max_quantity,
      ],
    );
    if (!rows[0]) throw apiError('INVALID_QUANTITY');
    await afterChange(deps, sql, { companyId: input.companyId, subscriptionId: subscription.id, time });
    return rows[0];
  });
}

/** Removes an add-on line at once. The plan's own line is no item to remove: 404 ITEM_NOT_FOUND, as for an ended subscription's. */
export async function removeItem(
  deps: ItemDeps,
  input: { companyId: number; subscriptionId: number; itemId: number },
): Promise<void> {
  await deps.db.transaction(async (sql) => {
    const time = await lockCompany(sql, input.companyId, deps.clock);
    const { rowCount } = await sql.query(
      `UPDATE billing.subscription_items item SET removed_at = $4
       FROM billing.subscriptions subscription
       WHERE item.company_id = $1 AND item.subscription_id = $2 AND item.id = $3
         AND item.type = 'addon' AND item.removed_at IS NULL
         AND subscription.id = item.subscription_id AND subscription.status NOT IN ('cancelled', 'expired')`,
      [input.companyId, input.subscriptionId, input.itemId, time.now],
    );
    if (rowCount === 0) throw apiError('ITEM_NOT_FOUND');
    await afterChange(deps, sql, { ...input, time });
  });
}

/** Queues the new price for the provider and the new limits for messaging. */
async function afterChange(
  deps: ItemDeps,
  sql: Sql,
  input: { companyId: number; subscriptionId: number; time: CompanyTime },
): Promise<void> {
  await queueTask(sql, {
    kind: 'sync_subscription',
    companyId: input.companyId,
    subjectId: input.subscriptionId,
    at: deps.clock.now(),
  });
  await settleSubscription(sql, { subscriptionId: input.subscriptionId, time: input.time });
}

interface AddonRow {
  price_cents: number;
  cycle: BillingCycle;
  max_quantity: number;
  plan_cycle: BillingCycle;
}

async function loadAddon(sql: Sql, code: string, planCode: string): Promise<AddonRow | undefined> {
  const { rows } = await sql.query<AddonRow>(
    `SELECT addon.price_cents, addon.cycle, addon.max_quantity, plan.cycle AS plan_cycle
     FROM billing.addons addon, billing.plans plan
     WHERE addon.code = $1 AND addon.offered AND plan.code = $2`,
    [code, planCode],
  );
  return rows[0];
}
