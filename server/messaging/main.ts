import { createBus } from '@posthorn/core/platform/bus.ts';
import { systemClock } from '@posthorn/core/platform/clock.ts';
import { loadConfig } from '@posthorn/core/platform/config.ts';
import { createDb } from '@posthorn/core/platform/db.ts';
import { createLog } from '@posthorn/core/platform/log.ts';
import { createMetrics } from '@posthorn/core/platform/metrics.ts';
import { createOrm } from '@posthorn/core/platform/orm.ts';
import { runMain } from '@posthorn/core/platform/run-main.ts';
import { createShutdown } from '@posthorn/core/platform/shutdown.ts';
import { createMessagingServer } from './app.ts';
import { messagingEntities } from './entities.ts';

/** Accepts share one connection; the rate limiter and the event feeds take the others. */
const HOT_POOL_SIZE = 4;

/** The messaging role by itself: `npm run messaging`. */
await runMain('messaging', async () => {
  const config = loadConfig(process.env);
  const log = createLog({ level: config.LOG_LEVEL, role: 'messaging' });
  const shutdown = createShutdown({ log, graceMs: config.SHUTDOWN_GRACE_SECONDS * 1000 });
  shutdown.onSignals();
  const url = config.DATABASE_URL;
  const db = createDb({ url, poolSize: config.DATABASE_POOL_SIZE, log, name: 'messaging' });
  shutdown.add('database', () => db.close());
  const hotDb = createDb({ url, poolSize: HOT_POOL_SIZE, log, name: 'messaging hot', plans: 'indexed' });
  shutdown.add('hot database', () => hotDb.close());
  const orm = await createOrm({ url, entities: messagingEntities, name: 'messaging' });
  shutdown.add('orm', () => orm.close());
  const bus = await createBus({ url, log, name: 'messaging' });
  shutdown.add('notifications', () => bus.close());
  const server = await createMessagingServer({
    config,
    db,
    hotDb,
    orm,
    bus,
    clock: systemClock,
    log,
    metrics: createMetrics(),
    isDraining: shutdown.isDraining,
  });
  shutdown.add('server', () => server.close());
  const port = await server.listen(config.PORT, config.HOST);
  log.info({ host: config.HOST, port }, 'listening');
});
