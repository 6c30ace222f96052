import { setTimeout as delay } from 'node:timers/promises';
import { ENTITLEMENT_UPDATES_QUEUE } from '@posthorn/core/billing/entitlements/entitlements.ts';
import { hasProvider, openBilling } from '@posthorn/core/billing/open-billing.ts';
import type { Broker } from '@posthorn/core/platform/broker/broker.ts';
import type { Bus } from '@posthorn/core/platform/broker/bus.ts';
import type { Config } from '@posthorn/core/platform/config.ts';
import type { Db } from '@posthorn/core/platform/database/db.ts';
import { withoutTrailingSlashes } from '@posthorn/core/platform/http/base-url.ts';
import type { Clock } from '@posthorn/core/platform/process/clock.ts';
import type { Log } from '@posthorn/core/platform/process/log.ts';
import type { Metrics } from '@posthorn/core/platform/process/metrics.ts';
import type { Shutdown } from '@posthorn/core/platform/process/shutdown.ts';
import type { Pulse } from '@posthorn/core/workers/pulse.ts';
import { startBillingWorker } from './billing-worker.ts';
import { consumeEntitlementUpdates } from './consume-entitlement-updates.ts';
import { showBillingFigures } from './show-figures.ts';

const REFUSED_RETRY_MS = 10_000;

/**
 * Starts the billing roles of a worker: billing's own work, over connections with its own database role, and
 * messaging's consumer of entitlement updates, over `db`. Without a payment provider (also where billing is
 * not run) billing's work does not start. `shutdown` closes everything opened here.
 */
export async function startBillingRoles(deps: {
  config: Config;
  db: Db;
  bus: Bus;
  broker: Broker;
  clock: Clock;
  log: Log;
  metrics: Metrics;
  shutdown: Shutdown;
  pulse: Pulse;
  /** Part of each connection's name. */
  tag: string;
}): Promise<void> {
  const { shutdown } = deps;
  await declareUpdates(deps);
  if (hasProvider(deps.config)) await startWork(deps);
  else
    deps.log.warn('no payment provider is set: this worker does no billing work until ASAAS_API_KEY is set');
  const consumer = await consumeEntitlementUpdates(deps);
  shutdown.add('entitlement updates', () => consumer.close());
}

/**
 * Waits for a broker that refuses the queue, for want of a right or because it is there with other arguments. A worker that ended for that
 * would be started again and again, each time with all its sessions.
 */
async function declareUpdates({
  broker,
  log,
  shutdown,
}: Pick<Parameters<typeof startBillingRoles>[0], 'broker' | 'log' | 'shutdown'>): Promise<void> {
  for (;;) {
    try {
      return await broker.declare([ENTITLEMENT_UPDATES_QUEUE]);
    } catch (err) {
      if (shutdown.signal.aborted) throw err;
      log.error(
        { err, queue: ENTITLEMENT_UPDATES_QUEUE },
        'the broker of AMQP_URL refuses a queue, trying again',
      );
      await delay(REFUSED_RETRY_MS, undefined, { signal: shutdown.signal });
    }
  }
}

async function startWork(deps: Parameters<typeof startBillingRoles>[0]): Promise<void> {
  const { config, shutdown } = deps;
  const billing = await openBilling({
    ...deps,
    name: `billing worker ${deps.tag}`,
    shown: { metrics: deps.metrics, name: 'billing worker' },
  });
  const base = config.BILLING_INTERNAL_URL ?? `http://127.0.0.1:${config.BILLING_PORT}`;
  const worker = await startBillingWorker({
    ...billing,
    bus: deps.bus,
    broker: deps.broker,
    eventRetentionDays: config.PROVIDER_EVENT_RETENTION_DAYS,
    ingestionUrl: `${withoutTrailingSlashes(base)}/v1/webhooks/asaas`,
    pulse: deps.pulse,
    countPaymentAfterEnd: showBillingFigures({ db: billing.db, metrics: deps.metrics }),
  });
  shutdown.add('billing work', () => worker.stop());
}
