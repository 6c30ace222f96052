import { applyPlanLimits } from '@posthorn/core/accounts/company/apply-plan-limits.ts';
import {
  ENTITLEMENT_UPDATES_QUEUE,
  type EntitlementUpdate,
} from '@posthorn/core/billing/entitlements/entitlements.ts';
import type { Broker, Consumer } from '@posthorn/core/platform/broker/broker.ts';
import type { Db } from '@posthorn/core/platform/database/db.ts';
import type { Clock } from '@posthorn/core/platform/process/clock.ts';
import type { Log } from '@posthorn/core/platform/process/log.ts';

/** Consumes entitlement updates from billing: applies a company's limits to its row and its instances. */
export async function consumeEntitlementUpdates(deps: {
  db: Db;
  broker: Broker;
  clock: Clock;
  log: Log;
}): Promise<Consumer> {
  await deps.broker.declare([ENTITLEMENT_UPDATES_QUEUE]);
  return deps.broker.consume(ENTITLEMENT_UPDATES_QUEUE, { prefetch: 8 }, async (body) => {
    const update = body as EntitlementUpdate;
    const applied = await applyPlanLimits(deps, update);
    deps.log.info({ company_id: update.company_id, kind: update.kind, applied }, 'received entitlements');
  });
}
