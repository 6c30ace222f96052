import { createRabbitBroker } from '@posthorn/core/platform/broker/rabbitmq.ts';
import { loadConfig } from '@posthorn/core/platform/config.ts';
import { openDatabaseClock } from '@posthorn/core/platform/database/database-clock.ts';
import { reconnectCounter } from '@posthorn/core/platform/database/watch-pool.ts';
import { startHealthServer } from '@posthorn/core/platform/http/health-server.ts';
import { createMetricsAccess } from '@posthorn/core/platform/http/metrics-access.ts';
import { createLog } from '@posthorn/core/platform/process/log.ts';
import { createMetrics } from '@posthorn/core/platform/process/metrics.ts';
import { createShutdown, shutdownTimes } from '@posthorn/core/platform/process/shutdown.ts';
import { runMain } from '@posthorn/core/platform/run-main.ts';
import { openTracing } from '@posthorn/core/platform/tracing/open-tracing.ts';
import { openWorkerRoles } from './roles.ts';

/** The consuming roles in their own process: `npm run worker`. */
await runMain('worker', async (endsBy) => {
  const config = loadConfig(process.env);
  const log = createLog({ level: config.LOG_LEVEL, role: 'worker' });
  const shutdown = createShutdown({ log, ...shutdownTimes(config, { isBalanced: false }) });
  shutdown.onSignals();
  endsBy(shutdown);
  const metrics = createMetrics();
  const broker = createRabbitBroker({
    url: config.AMQP_URL,
    log,
    onLost: reconnectCounter(metrics, 'broker'),
  });
  shutdown.add('broker', () => broker.close());
  const clock = await openDatabaseClock({ url: config.DATABASE_URL, log, shutdown });
  const trace = await openTracing({ config, service: 'worker', clock, log, shutdown });
  const roles = await openWorkerRoles({ config, broker, clock, log, metrics, trace, shutdown });
  if (config.WORKER_PORT !== undefined) {
    const health = await startHealthServer({
      mayReadMetrics: createMetricsAccess(config.METRICS_TOKEN),
      service: 'worker',
      host: config.HOST,
      port: config.WORKER_PORT,
      checks: roles.checks,
      isDraining: shutdown.isDraining,
      metrics,
    });
    shutdown.add('health', () => health.close());
  }
  await roles.start();
  log.info('the worker runs');
});
