import { openBilling } from '@posthorn/core/billing/open-billing.ts';
import type { Broker } from '@posthorn/core/platform/broker.ts';
import type { Bus } from '@posthorn/core/platform/bus.ts';
import type { Clock } from '@posthorn/core/platform/clock.ts';
import type { Config } from '@posthorn/core/platform/config.ts';
import type { Db } from '@posthorn/core/platform/db.ts';
import type { Log } from '@posthorn/core/platform/log.ts';
import type { Shutdown } from '@posthorn/core/platform/shutdown.ts';
import type { Pulse } from '@posthorn/core/workers/pulse.ts';
import { startBillingWorker } from './billing-worker.ts';
import { consumeBillingNews } from './consume-news.ts';

/**
 * The billing roles of a worker: billing's own work, over connections of its own role, and messaging's
 * consumer of its news, over `db`. What is opened is closed by `shutdown`.
 */
export async function startBillingRoles(deps: {
  config: Config;
  db: Db;
  bus: Bus;
  broker: Broker;
  clock: Clock;
  log: Log;
  shutdown: Shutdown;
  pulse: Pulse;
  /** Stands in the name of each connection. */
  tag: string;
}): Promise<void> {
  const { config, shutdown } = deps;
  const billing = await openBilling({ ...deps, name: `billing worker ${deps.tag}` });
  const base = config.BILLING_INTERNAL_URL ?? `http://127.0.0.1:${config.BILLING_PORT}`;
  const worker = await startBillingWorker({
    ...billing,
    bus: deps.bus,
    broker: deps.broker,
    pulse: deps.pulse,
    ingestionUrl: `${base.replace(/\/+$/, '')}/v1/webhooks/asaas`,
  });
  shutdown.add('billing work', () => worker.stop());
  const consumer = await consumeBillingNews(deps);
  shutdown.add('billing news', () => consumer.close());
}
