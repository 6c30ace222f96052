import { hostname } from 'node:os';
import type { Broker } from '@posthorn/core/platform/broker.ts';
import type { Bus } from '@posthorn/core/platform/bus.ts';
import type { Clock } from '@posthorn/core/platform/clock.ts';
import type { Config } from '@posthorn/core/platform/config.ts';
import { createMailer } from '@posthorn/core/platform/create-mailer.ts';
import type { Db } from '@posthorn/core/platform/db.ts';
import { createCipher } from '@posthorn/core/platform/encryption.ts';
import type { Log } from '@posthorn/core/platform/log.ts';
import type { Metrics } from '@posthorn/core/platform/metrics.ts';
import { createOutbound } from '@posthorn/core/platform/outbound-http.ts';
import { createMailSender } from './mail/mail-sender.ts';
import { createNetworkDriver } from './network-driver.ts';
import { createPurgeJob } from './purge/purge-job.ts';
import { createWebhookDispatcher } from './webhooks/webhook-dispatcher.ts';
import { startWorker } from './worker.ts';

/** The parts of a process, made in its main. */
export interface WorkerRolesDeps {
  config: Config;
  db: Db;
  bus: Bus;
  broker: Broker;
  clock: Clock;
  log: Log;
  metrics: Metrics;
}

export interface WorkerRoles {
  /** Rows were accepted in this very process: the relay need not wait for the hint. */
  wakeRelay(): void;
  /** Hands the shards over, records what is under way, and ends. */
  stop(): Promise<void>;
}

/**
 * Every role of a worker, the same set in `npm run worker` and in standalone. Waits for the broker. Any
 * number of processes may run them: shards are owned, everything else is claimed row by row.
 */
export async function startWorkerRoles(deps: WorkerRolesDeps): Promise<WorkerRoles> {
  const { config } = deps;
  const cipher = createCipher(config.ENCRYPTION_KEY);
  const driver = createNetworkDriver(deps, config);
  // Before the broker is waited for: mails need none.
  const mails = createMailSender({
    ...deps,
    cipher,
    mailer: createMailer(config, deps.log),
    settings: {
      frontendUrl: config.FRONTEND_URL.replace(/\/+$/, ''),
      passwordResetTtlMinutes: config.PASSWORD_RESET_TTL,
    },
  });
  mails.start();
  const purge = createPurgeJob({ ...deps, steps: [] });
  purge.start();
  const outbound = createOutbound({ allowPrivate: config.ALLOW_PRIVATE_WEBHOOKS });
  const road = await startWorker({
    ...deps,
    databaseUrl: config.DATABASE_URL,
    cipher,
    driver,
    name: `${hostname()} ${process.pid}`,
  }).catch(async (err) => {
    await Promise.all([mails.stop(), purge.stop()]);
    throw err;
  });
  const webhooks = createWebhookDispatcher({ ...deps, cipher, outbound });
  await webhooks.start();
  deps.metrics.gauge('posthorn_shards_owned', 'Shards this worker owns', () => road.counts().shards);
  deps.metrics.gauge('posthorn_sessions', 'Network sessions this worker holds', () => road.counts().sessions);
  deps.metrics.gauge(
    'posthorn_webhook_attempts',
    'Webhook attempts under way',
    () => webhooks.load().inFlight,
  );
  deps.metrics.gauge(
    'posthorn_webhook_deliveries_held',
    'Webhook deliveries claimed',
    () => webhooks.load().held,
  );
  return {
    wakeRelay: road.wakeRelay,
    async stop() {
      await road.stop();
      await purge.stop();
      await mails.stop();
      await webhooks.stop();
      await outbound.close();
    },
  };
}
