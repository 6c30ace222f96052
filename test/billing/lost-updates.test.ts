import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { applyPlanLimits } from '@posthorn/core/accounts/company/apply-plan-limits.ts';
import { ENTITLEMENT_UPDATES_QUEUE } from '@posthorn/core/billing/entitlements/entitlements.ts';
import {
  publishEntitlementUpdates,
  requeueLostUpdates,
} from '@posthorn/core/billing/entitlements/publish-updates.ts';
import { createInProcessBroker } from '@posthorn/core/platform/broker/in-process.ts';
import { waitFor } from '../support/process.ts';
import { startTestBilling, type TestBilling, withSubscription } from './billing-harness.ts';

let billing: TestBilling;
before(async () => {
  billing = await startTestBilling();
});
after(() => billing.close());

/** Until messaging has what billing knows: the limits of the plan, and no suspension. `round` runs before each look. */
async function waitForLimits(companyId: number, round?: () => Promise<unknown>): Promise<void> {
  await waitFor(
    async () => {
      await round?.();
      const { rows } = await billing.parts.db.query<{ max_instances: number | null; suspended: boolean }>(
        'SELECT max_instances, billing_suspended_at IS NOT NULL AS suspended FROM companies WHERE id = $1',
        [companyId],
      );
      return rows[0]!.max_instances === 10 && !rows[0]!.suspended;
    },
    20_000,
    { what: 'messaging has the limits that billing knows' },
  );
}

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
    await waitForLimits(companyId);
  });

  it('counts for nothing when the database was restored from before it', async () => {
    const { companyId } = await withSubscription(billing);
    await billing.startWorker();
    await waitForLimits(companyId);
    // The broker kept an update of the time that the restore took away.
    const update = { company_id: companyId, version: 99, limits: null, suspended: true };
    assert.equal(await applyPlanLimits(billing.parts, update), true);
    // While an earlier update waits for the broker, a round leaves the company to the next one.
    await waitForLimits(companyId, () => requeueLostUpdates(billing.billing));
  });
});
