import { openBilling } from '@posthorn/core/billing/open-billing.ts';
import { createBus } from '@posthorn/core/platform/broker/bus.ts';
import { createInProcessBroker } from '@posthorn/core/platform/broker/in-process.ts';
import { loadConfig } from '@posthorn/core/platform/config.ts';
import { systemClock } from '@posthorn/core/platform/process/clock.ts';
import { createLog } from '@posthorn/core/platform/process/log.ts';
import { createMetrics } from '@posthorn/core/platform/process/metrics.ts';
import { createShutdown } from '@posthorn/core/platform/process/shutdown.ts';
import { startBilling } from '@posthorn/server/billing/start.ts';
import { startBillingWorker } from '@posthorn/worker/billing/billing-worker.ts';

/** The billing service and its worker in a process of its own, for tests that kill it. */
const config = loadConfig(process.env);
const log = createLog({ level: config.LOG_LEVEL, role: 'billing' });
const shutdown = createShutdown({ log, graceMs: 1_000 });
const parts = { config, clock: systemClock, log, shutdown };
await startBilling({ ...parts, metrics: createMetrics({ collectProcess: false }) });
const billing = await openBilling({ ...parts, name: 'billing worker' });
await startBillingWorker({
  ...billing,
  bus: await createBus({ url: billing.url, log, name: 'billing worker' }),
  broker: createInProcessBroker(),
  ingestionUrl: undefined,
  eventRetentionDays: config.PROVIDER_EVENT_RETENTION_DAYS,
});
