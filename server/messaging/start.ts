import { openMedia } from '@posthorn/core/media/open-media.ts';
import { type Bus, openBus } from '@posthorn/core/platform/broker/bus.ts';
import type { Config } from '@posthorn/core/platform/config.ts';
import { createDb } from '@posthorn/core/platform/database/db.ts';
import { answeringInTime } from '@posthorn/core/platform/database/in-time.ts';
import { createOrm } from '@posthorn/core/platform/database/orm.ts';
import { openReportReads } from '@posthorn/core/platform/database/report-reads.ts';
import { reconnectCounter } from '@posthorn/core/platform/database/watch-pool.ts';
import { listenFault } from '@posthorn/core/platform/listen-fault.ts';
import type { Clock } from '@posthorn/core/platform/process/clock.ts';
import type { Log } from '@posthorn/core/platform/process/log.ts';
import { startLoop } from '@posthorn/core/platform/process/loop.ts';
import type { Metrics } from '@posthorn/core/platform/process/metrics.ts';
import type { Shutdown } from '@posthorn/core/platform/process/shutdown.ts';
import type { Trace } from '@posthorn/core/platform/tracing/trace.ts';
import type { LocalQueues } from '@posthorn/core/sending/local-queues.ts';
import { createMessagingServer } from './app.ts';
import { messagingEntities } from './entities.ts';

/** All accepts share one connection; the rate limiter and the event feeds use the others. */
const HOT_POOL_SIZE = 4;
const SWEEP_EVERY_MS = 600_000;

/**
 * Starts the messaging role and listens: the same in `npm run messaging` and in standalone. `shutdown` closes
 * everything opened here. Resolves with the port; rejects if the database is not there or the port is taken.
 */
export async function startMessaging(deps: {
  config: Config;
  clock: Clock;
  log: Log;
  metrics: Metrics;
  trace?: Trace | undefined;
  shutdown: Shutdown;
  /** The process's bus, if it has one; otherwise this opens one. */
  bus?: Bus;
  /** The worker's queues, if it runs in the same process. */
  queues?: LocalQueues;
}): Promise<number> {
  const { config, log, shutdown } = deps;
  const url = config.DATABASE_URL;
  const shown = (name: string) => ({ metrics: deps.metrics, name });
  const db = createDb({
    url,
    poolSize: config.DATABASE_POOL_SIZE,
    log,
    name: 'messaging',
    shown: shown('messaging'),
  });
  shutdown.add('messaging database', () => db.close());
  const hotDb = createDb({
    url,
    poolSize: HOT_POOL_SIZE,
    log,
    name: 'messaging hot',
    plans: 'indexed',
    shown: shown('messaging hot'),
  });
  shutdown.add('messaging hot database', () => hotDb.close());
  const reports = openReportReads({
    db,
    url: config.DATABASE_READ_URL,
    log,
    name: 'messaging reports',
    shown: shown('messaging reports'),
  });
  shutdown.add('messaging reports', () => reports.close());
  const orm = await createOrm({ url, entities: messagingEntities, name: 'messaging' });
  shutdown.add('messaging orm', () => orm.close());
  const onLost = reconnectCounter(deps.metrics, 'notifications');
  const bus = deps.bus ?? (await openBus({ url, log, shutdown, name: 'messaging', onLost }));
  const media = await openMedia({ config, db: answeringInTime(db), clock: deps.clock });
  shutdown.add('media', () => media.close());
  if (media.storage) {
    // The job of the workers sweeps the disks that they have, and this process may be on another machine.
    const sweeping = startLoop({
      everyMs: SWEEP_EVERY_MS,
      // The machine's clock, by which its files are dated: one that is an hour behind the database's would lose uploads under way.
      run: async () => void (await media.spool.sweep(new Date())),
      onError: (err) => log.warn({ err }, 'removing abandoned uploads failed, will be retried'),
    });
    shutdown.add('spool', () => sweeping.stop());
  }
  const server = await createMessagingServer({
    ...deps,
    media,
    db,
    hotDb,
    reports,
    orm,
    bus,
    isDraining: shutdown.isDraining,
  });
  shutdown.add('messaging server', () => server.close());
  const port = await server
    .listen(config.PORT, config.HOST)
    .catch(listenFault({ host: config.HOST, port: config.PORT }, { host: 'HOST', port: 'PORT' }));
  log.info({ host: config.HOST, port }, 'listening');
  return port;
}
