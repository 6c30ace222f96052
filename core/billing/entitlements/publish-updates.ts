import type { Broker } from '../../platform/broker/broker.ts';
import type { BillingDeps } from '../deps.ts';
import { ENTITLEMENT_UPDATES_QUEUE, type EntitlementUpdate } from './entitlements.ts';

/**
 * Publishes entitlement updates, oldest first, and removes those that the broker has confirmed. Rows are locked
 * meanwhile, so that several workers share them; a crash publishes one twice, which its version makes harmless.
 * Returns the number published.
 */
export async function publishEntitlementUpdates(
  deps: Pick<BillingDeps, 'db'> & { broker: Broker },
): Promise<number> {
  return deps.db.transaction(async (sql) => {
    const { rows } = await sql.query<{ id: number; body: EntitlementUpdate }>(
      'SELECT id, body FROM billing.outbox ORDER BY id LIMIT 50 FOR UPDATE SKIP LOCKED',
    );
    for (const { body } of rows) await deps.broker.publish(ENTITLEMENT_UPDATES_QUEUE, body);
    await sql.query('DELETE FROM billing.outbox WHERE id = ANY($1::bigint[])', [rows.map((row) => row.id)]);
    return rows.length;
  });
}
