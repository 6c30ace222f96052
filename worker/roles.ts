import type { DirectDelivery } from '@posthorn/core/events/direct-delivery.ts';
import { type OpenedMedia, openMedia } from '@posthorn/core/media/open-media.ts';
import { requireSchema } from '@posthorn/core/migrations/require-schema.ts';
import type { Broker } from '@posthorn/core/platform/broker/broker.ts';
import { type Bus, openBus } from '@posthorn/core/platform/broker/bus.ts';
import type { Config } from '@posthorn/core/platform/config.ts';
import { PATIENT_LIMITS } from '@posthorn/core/platform/database/connection-limits.ts';
import { clockCheck } from '@posthorn/core/platform/database/database-clock.ts';
import { createDb } from '@posthorn/core/platform/database/db.ts';
import { reconnectCounter } from '@posthorn/core/platform/database/watch-pool.ts';
import { createCipher } from '@posthorn/core/platform/encryption.ts';
import { withoutTrailingSlashes } from '@posthorn/core/platform/http/base-url.ts';
import { createOutbound } from '@posthorn/core/platform/http/outbound-http.ts';
import { createMailer, mailFolder } from '@posthorn/core/platform/mail/create-mailer.ts';
import type { Clock } from '@posthorn/core/platform/process/clock.ts';
import { createFolderProbe } from '@posthorn/core/platform/process/folder-probe.ts';
import type { Log } from '@posthorn/core/platform/process/log.ts';
import type { Metrics } from '@posthorn/core/platform/process/metrics.ts';
import type { Check } from '@posthorn/core/platform/process/readiness.ts';
import type { Shutdown } from '@posthorn/core/platform/process/shutdown.ts';
import type { Trace } from '@posthorn/core/platform/tracing/trace.ts';
import type { LocalQueues } from '@posthorn/core/sending/local-queues.ts';
import { RETRIES_NOTIFICATION } from '@posthorn/core/webhooks/notifications.ts';
import { keyMark, requireAcceptedKeys } from '@posthorn/core/workers/key-mark.ts';
import { startBillingRoles } from './billing/start.ts';
import { countWork, type WorkCounts } from './count-work.ts';
import { DEFERRAL } from './dispatch/task-book.ts';
import { createMailSender } from './mail/mail-sender.ts';
import { createMediaRetentionJob } from './media/media-retention-job.ts';
import { openWorkerMedia } from './media/open-worker-media.ts';
import { createNetworkDrivers, pacingMinMsOf, typingMaxMsOf } from './network-driver.ts';
import { hearDrain } from './ownership/hear-drain.ts';
import { type Membership, newWorkerTag, startMembership, WORKER_NAME } from './ownership/membership.ts';
import { createPurgeJob } from './purge/purge-job.ts';
import { createArchiveJob } from './retention/archive-job.ts';
import { createLongRetentionJob, createRetentionJob } from './retention/retention-job.ts';
import { showBacklog } from './show-backlog.ts';
import { HELD_WITH_SLOW_MAX } from './webhooks/claim-state.ts';
import { createWebhookDispatcher } from './webhooks/webhook-dispatcher.ts';
import { type RunningWorker, startWorker } from './worker.ts';

export interface WorkerRolesDeps {
  config: Config;
  broker: Broker;
  clock: Clock;
  log: Log;
  metrics: Metrics;
  /** Absent: nobody listens. */
  trace?: Trace | undefined;
  /** Closes everything opened here. */
  shutdown: Shutdown;
  /** The process's bus, if it has one; otherwise this opens one. */
  bus?: Bus;
}

export interface WorkerRoles {
  /** The checks of /ready. */
  checks: Record<string, Check>;
  /** Resolves when all roles run: those of billing wait for a broker that is away, until draining ends that wait. */
  start(): Promise<void>;
  /** See `RunningWorker`; empty while the pipeline does not run. */
  queues: LocalQueues;
}

/** If messages of connected instances make no progress for this long, this worker counts as failed. */
const LATE_MS = 30_000;

/**
 * Every role of a worker, the same set in `npm run worker` and in standalone. Any number of processes may run
 * them: shards are owned, mails and deliveries are claimed row by row, and clean-up jobs take a lock. Rejects
 * if the database is not there.
 */
export async function openWorkerRoles(deps: WorkerRolesDeps): Promise<WorkerRoles> {
  const { config, broker, shutdown } = deps;
  const url = config.DATABASE_URL;
  const tag = newWorkerTag();
  const { db, bus } = await openConnections(deps, `worker ${tag}`);
  let running: { membership: Membership; pipeline: RunningWorker } | null = null;
  let isComplete = false;

  async function start(): Promise<void> {
    await requireSchema(db, 'messaging');
    const cipher = createCipher(config.ENCRYPTION_KEY, config.ENCRYPTION_KEYS_ACCEPTED);
    await requireAcceptedKeys(db, cipher);
    const { membership, drainRequest } = register(deps, { bus, tag, keyMark: keyMark(cipher) });
    const parts: Parts = {
      ...deps,
      db,
      bus,
      tag,
      pulse: membership,
      cipher,
      counts: countWork(deps.metrics),
    };
    const deliveries = await startDelivery(parts);
    const stored = await openMedia(parts);
    shutdown.add('worker media', () => stored.close());
    const pipeline = await startWorker({
      ...parts,
      deliveries,
      media: await openWorkerMedia({ ...parts, media: stored }),
      databaseUrl: url,
      ...(await createNetworkDrivers(deps, config)),
      pacingMinMs: (driver) => pacingMinMsOf(config, driver),
      typingMaxMs: typingMaxMsOf(config),
      deferral: { ...DEFERRAL, unansweredMs: config.GRAPH_STATUS_WAIT_SECONDS * 1_000 },
      name: WORKER_NAME,
      membership,
      drainRequest,
    });
    startJobs(parts, stored);
    let stopped: Promise<void> | undefined;
    const stop = () => (stopped ??= pipeline.stop());
    // For a shutdown during the wait below.
    shutdown.add('pipeline', stop);
    running = { membership, pipeline };
    addGauges(parts, pipeline);
    // Last, for it waits for a broker that is away: nothing else needs one.
    await startBillingRoles(parts);
    isComplete = true;
    // Closed first: other workers wait for these shards, while nobody waits for the attempts in progress.
    shutdown.add('pipeline', stop);
  }

  const mails = mailFolder(config);
  return {
    checks: {
      database: () => db.query('SELECT 1'),
      clock: clockCheck(deps.clock),
      bus: () => bus.isUp(),
      broker: () =>
        broker.isBlocked()
          ? 'RabbitMQ is short of memory or disk and takes no messages; sends go on, found by timer'
          : broker.isUp(),
      roles: () => isComplete,
      heartbeat: () => running?.membership.isAlive() ?? false,
      sends: () => running !== null && running.pipeline.lateMs() < LATE_MS,
      ...(mails && { mails: createFolderProbe(mails) }),
    },
    start: () =>
      start().catch((err) => {
        // Shutdown closed the broker while we waited for it: not an error.
        if (!shutdown.isDraining()) throw err;
      }),
    queues: {
      idleAt: (instanceId) => running?.pipeline.queues.idleAt(instanceId) ?? null,
      onAccepted: (accepted) => running?.pipeline.queues.onAccepted(accepted) ?? false,
    },
  };
}

function register(
  { config, log, shutdown }: WorkerRolesDeps,
  { bus, ...self }: { bus: Bus; tag: string; keyMark: number },
) {
  const membership = startMembership({
    databaseUrl: config.DATABASE_URL,
    log,
    name: WORKER_NAME,
    ...self,
    onOthersFenced: () => tellOfFreeClaims(bus),
  });
  // Closed after everything that claims: ending it frees all claims.
  shutdown.add('membership', () => membership.stop());
  return { membership, drainRequest: hearDrain(bus, membership) };
}

async function openConnections({ config, log, metrics, shutdown, bus }: WorkerRolesDeps, name: string) {
  const { DATABASE_URL: url, DATABASE_POOL_SIZE: poolSize } = config;
  const shown = { metrics, name: 'worker' };
  const db = createDb({ url, poolSize, log, name, plans: 'indexed', shown });
  shutdown.add('worker database', () => db.close());
  const onLost = reconnectCounter(metrics, 'notifications');
  return { db, bus: bus ?? (await openBus({ url, log, shutdown, name, onLost })) };
}

function addGauges(parts: Parts, pipeline: RunningWorker): void {
  const { metrics } = parts;
  showBacklog(parts);
  metrics.gauge('posthorn_shards', 'Shards that there are', () => pipeline.counts().ofShards);
  metrics.gauge('posthorn_shards_owned', 'Shards owned by this worker', () => pipeline.counts().shards);
  metrics.gauge(
    'posthorn_sessions',
    'Network sessions held by this worker',
    () => pipeline.counts().sessions,
  );
  metrics.gauge(
    'posthorn_sends_late_seconds',
    'The longest time that a connected instance of this worker has had something to send that does not get on',
    () => pipeline.lateMs() / 1000,
  );
}

type Parts = WorkerRolesDeps &
  Omit<Parameters<typeof createWebhookDispatcher>[0], 'outbound'> & {
    pulse: Membership;
    tag: string;
    counts: WorkCounts;
  };

/** Wakes all processes to take over the claims of dead workers. */
function tellOfFreeClaims(bus: Bus): void {
  bus.notify('deliveries', RETRIES_NOTIFICATION);
  bus.notify('mail');
  bus.notify('billing', 'tasks');
}

/** Starts the delivery of events to webhooks and of mails to their recipients. */
async function startDelivery(parts: Parts): Promise<DirectDelivery> {
  const { config, log, metrics, shutdown } = parts;
  const outbound = createOutbound({
    allowPrivate: config.ALLOW_PRIVATE_WEBHOOKS,
    connectionsPerOrigin: HELD_WITH_SLOW_MAX,
  });
  shutdown.add('outbound connections', () => outbound.close());
  const webhooks = createWebhookDispatcher({ ...parts, outbound });
  await webhooks.start();
  shutdown.add('webhooks', () => webhooks.stop());
  metrics.gauge('posthorn_webhook_attempts', 'Webhook attempts under way', () => webhooks.load().inFlight);
  metrics.gauge(
    'posthorn_webhook_deliveries_held',
    'Deliveries claimed by this worker',
    () => webhooks.load().held,
  );

  const mails = createMailSender({
    ...parts,
    mailer: await createMailer(config, log),
    settings: {
      frontendUrl: withoutTrailingSlashes(config.FRONTEND_URL),
      passwordResetTtlMinutes: config.PASSWORD_RESET_TTL,
    },
  });
  mails.start();
  shutdown.add('mails', () => mails.stop());
  return webhooks.direct;
}

/** A job holds its lock on one connection and works on another. */
const JOB_CONNECTIONS = 6;

/** Starts the clean-up jobs, over their own connections: their statements may take long. */
function startJobs(shared: Parts, media: OpenedMedia): void {
  const { log } = shared;
  const url = shared.config.DATABASE_URL;
  const name = `worker jobs ${shared.tag}`;
  const db = createDb({
    url,
    poolSize: JOB_CONNECTIONS,
    log,
    name,
    plans: 'indexed',
    limits: PATIENT_LIMITS,
    shown: { metrics: shared.metrics, name: 'worker jobs' },
  });
  shared.shutdown.add('jobs database', () => db.close());
  const parts = { ...shared, db };
  for (const [name, job] of Object.entries({
    retention: createRetentionJob(parts),
    'long retention': createLongRetentionJob(parts),
    purge: createPurgeJob(parts),
    'media retention': createMediaRetentionJob({ ...parts, media }),
    'message retention': createArchiveJob({ ...parts, media }),
  })) {
    job.start();
    parts.shutdown.add(name, () => job.stop());
  }
}
