import { loadConfig } from '@posthorn/core/platform/config.ts';
import { openDatabaseClock } from '@posthorn/core/platform/database/database-clock.ts';
import { createLog } from '@posthorn/core/platform/process/log.ts';
import { createMetrics } from '@posthorn/core/platform/process/metrics.ts';
import { createShutdown, shutdownTimes } from '@posthorn/core/platform/process/shutdown.ts';
import { runMain } from '@posthorn/core/platform/run-main.ts';
import { openTracing } from '@posthorn/core/platform/tracing/open-tracing.ts';
import { startBilling } from './start.ts';

/** The billing role in its own process: `npm run billing`. */
await runMain('billing', async (endsBy) => {
  const config = loadConfig(process.env);
  const log = createLog({ level: config.LOG_LEVEL, role: 'billing' });
  const shutdown = createShutdown({ log, ...shutdownTimes(config, { isBalanced: true }) });
  shutdown.onSignals();
  endsBy(shutdown);
  const clock = await openDatabaseClock({
    url: config.BILLING_DATABASE_URL ?? config.DATABASE_URL,
    log,
    shutdown,
  });
  const trace = await openTracing({ config, service: 'billing', clock, log, shutdown });
  await startBilling({ config, clock, log, metrics: createMetrics(), trace, shutdown });
});
