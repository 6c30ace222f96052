import type { SubscriptionStatus } from '@posthorn/contract/billing/subscriptions.ts';
import type { Sql } from '../../platform/database/db.ts';
import { oneRow } from '../../platform/database/one-row.ts';
import { wakeBillingWorker } from '../billing-bus.ts';

/** The queue of entitlement updates, from billing to messaging. */
export const ENTITLEMENT_UPDATES_QUEUE = 'billing.news';

export interface PlanLimits {
  max_instances: number;
  max_users: number;
  max_webhooks: number;
  requests_per_minute: number;
  /** Media kept, in units of 1024 x 1024 bytes. */
  storage_mb: number;
  /** Null: as the settings of messaging say. */
  message_retention_days: number | null;
}

/**
 * All entitlements of a company: a consumer that missed or repeated any number of updates is right after the one
 * with the highest version. `limits` null: the free limits.
 */
export interface EntitlementUpdate {
  /** The cause of the change, for people. */
  kind: 'limits_changed' | 'suspended' | 'reactivated';
  company_id: number;
  version: number;
  limits: PlanLimits | null;
  /** Instances are disconnected and stay so (BIL-18). */
  suspended: boolean;
}

/**
 * Writes an entitlement update if the entitlements have changed, in the transaction of the change; the worker
 * publishes it. The caller holds the company's row.
 */
export async function publishEntitlements(
  sql: Sql,
  input: { companyId: number; subscriptionId: number; status: SubscriptionStatus; now: Date },
): Promise<void> {
  const ended = input.status === 'cancelled' || input.status === 'expired';
  const suspended = input.status === 'suspended';
  const limits = ended ? null : await limitsOf(sql, input.subscriptionId);
  const { rows } = await sql.query<{ version: number; was_suspended: boolean }>(
    `UPDATE billing.accounts new
     SET entitlements = $2, entitlement_version = new.entitlement_version + 1
     FROM billing.accounts old
     WHERE new.company_id = $1 AND old.company_id = $1 AND old.entitlements IS DISTINCT FROM $2::jsonb
     RETURNING new.entitlement_version AS version,
               coalesce((old.entitlements ->> 'suspended')::boolean, false) AS was_suspended`,
    [input.companyId, JSON.stringify({ limits, suspended })],
  );
  const changed = rows[0];
  if (!changed) return;
  const turned =
    suspended === changed.was_suspended ? 'limits_changed' : suspended ? 'suspended' : 'reactivated';
  const update: EntitlementUpdate = {
    kind: turned,
    company_id: input.companyId,
    version: changed.version,
    limits,
    suspended,
  };
  await sql.query('INSERT INTO billing.outbox (company_id, body, created_at) VALUES ($1, $2, $3)', [
    input.companyId,
    JSON.stringify(update),
    input.now,
  ]);
  await wakeBillingWorker(sql, 'news');
}

/** The plan's limits and what the add-ons add to them. */
async function limitsOf(sql: Sql, subscriptionId: number): Promise<PlanLimits> {
  const { rows } = await sql.query<PlanLimits>(
    `SELECT plan.max_instances + coalesce(sum(item.quantity * addon.adds_instances), 0)::int AS max_instances,
            plan.max_users + coalesce(sum(item.quantity * addon.adds_users), 0)::int AS max_users,
            plan.max_webhooks + coalesce(sum(item.quantity * addon.adds_webhooks), 0)::int AS max_webhooks,
            plan.requests_per_minute + coalesce(sum(item.quantity * addon.adds_requests), 0)::int AS requests_per_minute,
            plan.storage_mb, plan.message_retention_days
     FROM billing.subscriptions subscription
     JOIN billing.plans plan ON plan.code = subscription.plan_code
     LEFT JOIN billing.subscription_items item
       ON item.subscription_id = subscription.id AND item.type = 'addon' AND item.removed_at IS NULL
     LEFT JOIN billing.addons addon ON addon.code = item.code
     WHERE subscription.id = $1
     GROUP BY plan.code`,
    [subscriptionId],
  );
  return oneRow(rows);
}
