import { after, before, describe, it } from 'node:test';
import { ENTITLEMENT_UPDATES_QUEUE } from '@posthorn/core/billing/entitlements/entitlements.ts';
import { publishEntitlementUpdates } from '@posthorn/core/billing/entitlements/publish-updates.ts';
import { createInProcessBroker } from '@posthorn/core/platform/broker/in-process.ts';
import { waitFor } from '../support/process.ts';
import { startTestBilling, type TestBilling, withSubscription } from './billing-harness.ts';

let billing: TestBilling;
before(async () => {
  billing = await startTestBilling();
});
after(() => billing.close());

describe('an update that the broker has taken', () => {
  it('reaches messaging although the broker forgot it', async () => {
    const { companyId } = await withSubscription(billing);
    const broker = createInProcessBroker();
    await broker.declare([ENTITLEMENT_UPDATES_QUEUE]);
    await publishEntitlementUpdates({ db: billing.billing.db, broker });
    // The process ends, or the broker is wiped, before anybody has read it.
    await broker.close();
    billing.parts.clock.advance(10 * 60_000);
    await billing.startWorker();
    await waitFor(async () => {
      const { rows } = await billing.parts.db.query<{ max_instances: number | null }>(
        'SELECT max_instances FROM companies WHERE id = $1',
        [companyId],
      );
      return rows[0]!.max_instances === 10;
    });
  });
});
