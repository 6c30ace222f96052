/** `npm run worker`: the roles that consume, as a process of their own. */
import { createRabbitBroker } from '@posthorn/core/platform/broker-rabbitmq.ts';
import { createBus } from '@posthorn/core/platform/bus.ts';
import { systemClock } from '@posthorn/core/platform/clock.ts';
import { loadConfig } from '@posthorn/core/platform/config.ts';
import { createDb } from '@posthorn/core/platform/db.ts';
import { startHealthServer } from '@posthorn/core/platform/health-server.ts';
import { createLog } from '@posthorn/core/platform/log.ts';
import { createMetrics } from '@posthorn/core/platform/metrics.ts';
import { runMain } from '@posthorn/core/platform/run-main.ts';
import { createShutdown } from '@posthorn/core/platform/shutdown.ts';
import { startWorkerRoles } from './roles.ts';

await runMain('worker', async () => {
  const config = loadConfig(process.env);
  const log = createLog({ level: config.LOG_LEVEL, role: 'worker' });
  const shutdown = createShutdown({ log, graceMs: config.SHUTDOWN_GRACE_SECONDS * 1000 });
  const metrics = createMetrics();
  const parts = { log, name: 'posthorn worker', url: config.DATABASE_URL };

  const db = createDb({ ...parts, poolSize: config.DATABASE_POOL_SIZE, plans: 'indexed' });
  shutdown.add('database', () => db.close());
  const bus = await createBus(parts);
  shutdown.add('bus', () => bus.close());
  const broker = createRabbitBroker({ url: config.AMQP_URL, log });
  shutdown.add('broker', () => broker.close());
  let running = false;
  if (config.WORKER_PORT !== undefined) {
    const health = await startHealthServer({
      service: 'worker',
      host: config.HOST,
      port: config.WORKER_PORT,
      checks: {
        database: () => db.query('SELECT 1'),
        bus: () => bus.isUp(),
        broker: () => broker.isUp(),
        roles: () => running,
      },
      isDraining: shutdown.isDraining,
      metrics,
    });
    shutdown.add('health', () => health.close());
  }
  shutdown.onSignals();
  // Waits for a broker that is away; a signal ends that wait, and then there is nothing to complain of.
  const starting = startWorkerRoles({ config, db, bus, broker, clock: systemClock, log, metrics });
  const roles = await starting.catch((err) => {
    if (shutdown.isDraining()) return null;
    throw err;
  });
  if (!roles) return;
  shutdown.add('roles', () => roles.stop());
  running = true;
  log.info('the worker runs');
});
