import { loadConfig } from '@posthorn/core/platform/config.ts';
import { openDatabaseClock } from '@posthorn/core/platform/database/database-clock.ts';
import { createLog } from '@posthorn/core/platform/process/log.ts';
import { createMetrics } from '@posthorn/core/platform/process/metrics.ts';
import { createShutdown, shutdownTimes } from '@posthorn/core/platform/process/shutdown.ts';
import { runMain } from '@posthorn/core/platform/run-main.ts';
import { openTracing } from '@posthorn/core/platform/tracing/open-tracing.ts';
import { startMessaging } from './start.ts';

/** The messaging role in its own process: `npm run messaging`. */
await runMain('messaging', async (endsBy) => {
  const config = loadConfig(process.env);
  const log = createLog({ level: config.LOG_LEVEL, role: 'messaging' });
  const shutdown = createShutdown({ log, ...shutdownTimes(config, { isBalanced: true }) });
  shutdown.onSignals();
  endsBy(shutdown);
  const clock = await openDatabaseClock({ url: config.DATABASE_URL, log, shutdown });
  const trace = await openTracing({ config, service: 'messaging', clock, log, shutdown });
  await startMessaging({ config, clock, log, metrics: createMetrics(), trace, shutdown });
});
