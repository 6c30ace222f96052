import { applyPlanLimits } from '@posthorn/core/accounts/company/apply-plan-limits.ts';
import { readEntitlementUpdate } from '@posthorn/core/accounts/company/entitlement-update.ts';
import { ENTITLEMENT_UPDATES_QUEUE } from '@posthorn/core/billing/entitlements/entitlements.ts';
import type { Broker, Consumer } from '@posthorn/core/platform/broker/broker.ts';
import type { Db } from '@posthorn/core/platform/database/db.ts';
import { installationOf } from '@posthorn/core/platform/database/installation.ts';
import type { Clock } from '@posthorn/core/platform/process/clock.ts';
import type { Log } from '@posthorn/core/platform/process/log.ts';

/**
 * Consumes entitlement updates from billing: applies a company's limits to its row and its instances. A message that is none, or
 * another installation's, is dropped: returned to its queue it would come again for ever, and billing queues lost updates again.
 */
export async function consumeEntitlementUpdates(deps: {
  db: Db;
  broker: Broker;
  clock: Clock;
  log: Log;
}): Promise<Consumer> {
  await deps.broker.declare([ENTITLEMENT_UPDATES_QUEUE]);
  const own = await installationOf(deps.db);
  return deps.broker.consume(ENTITLEMENT_UPDATES_QUEUE, { prefetch: 8 }, async (body) => {
    const update = readEntitlementUpdate(body);
    if (!update)
      return deps.log.error(
        { queue: ENTITLEMENT_UPDATES_QUEUE },
        'dropped a message that is no entitlement update',
      );
    if (update.installation !== undefined && update.installation !== own)
      return deps.log.error(
        { company_id: update.company_id, installation: update.installation },
        'dropped the entitlement update of another installation: give each its own virtual host in AMQP_URL',
      );
    const applied = await applyPlanLimits(deps, update);
    deps.log.info({ company_id: update.company_id, kind: update.kind, applied }, 'received entitlements');
  });
}
