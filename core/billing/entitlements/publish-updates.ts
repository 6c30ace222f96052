import type { Broker } from '../../platform/broker/broker.ts';
import { installationOf } from '../../platform/database/installation.ts';
import type { BillingDeps } from '../deps.ts';
import { ENTITLEMENT_UPDATES_QUEUE, type EntitlementUpdate } from './entitlements.ts';

/** Updates that are queued again in one round at most. */
const BATCH = 100;

/**
 * Queues again what messaging does not have: a broker may forget what it has confirmed, and an update is a company's
 * suspension or its end. One that is only under way comes twice, which its version makes harmless. Returns the number.
 *
 * A version that only messaging knows comes from a broker that outlived a restore of the database: what billing knows gets a higher one.
 */
export async function requeueLostUpdates(deps: Pick<BillingDeps, 'db' | 'clock'>): Promise<number> {
  await deps.db.query(
    `UPDATE billing.accounts account SET entitlement_version = company.billing_version + 1
     FROM public.companies company
     WHERE company.id = account.company_id AND company.billing_version > account.entitlement_version`,
  );
  const { rowCount } = await deps.db.query(
    `INSERT INTO billing.outbox (company_id, body, created_at)
     SELECT account.company_id, coalesce(account.entitlements, '{"limits": null, "suspended": false}') || jsonb_build_object(
              'kind', 'limits_changed', 'company_id', account.company_id, 'version', account.entitlement_version), $1
     FROM billing.accounts account
     JOIN public.companies company ON company.id = account.company_id
     WHERE account.entitlement_version > company.billing_version
       AND NOT EXISTS (SELECT FROM billing.outbox WHERE outbox.company_id = account.company_id)
     LIMIT ${BATCH}`,
    [deps.clock.now()],
  );
  return rowCount ?? 0;
}

/**
 * Publishes entitlement updates, oldest first, and removes those that the broker has confirmed. Rows are locked
 * meanwhile, so that several workers share them; a crash publishes one twice, which its version makes harmless.
 * Each names its installation: another one whose processes use the same broker has companies with the same ids.
 * Returns the number published.
 */
export async function publishEntitlementUpdates(
  deps: Pick<BillingDeps, 'db'> & { broker: Broker },
): Promise<number> {
  return deps.db.transaction(async (sql) => {
    const { rows } = await sql.query<{ id: number; body: EntitlementUpdate }>(
      'SELECT id, body FROM billing.outbox ORDER BY id LIMIT 50 FOR UPDATE SKIP LOCKED',
    );
    if (rows.length === 0) return 0;
    const installation = await installationOf(sql);
    for (const { body } of rows)
      await deps.broker.publish(ENTITLEMENT_UPDATES_QUEUE, { ...body, installation });
    await sql.query('DELETE FROM billing.outbox WHERE id = ANY($1::bigint[])', [rows.map((row) => row.id)]);
    return rows.length;
  });
}
