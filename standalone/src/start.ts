import path from 'node:path';
import { migrate } from '@posthorn/core/migrations/migrate.ts';
import { openBus } from '@posthorn/core/platform/broker/bus.ts';
import { createInProcessBroker } from '@posthorn/core/platform/broker/in-process.ts';
import { createRabbitBroker } from '@posthorn/core/platform/broker/rabbitmq.ts';
import type { Config } from '@posthorn/core/platform/config.ts';
import { openDatabaseClock } from '@posthorn/core/platform/database/database-clock.ts';
import type { Log } from '@posthorn/core/platform/process/log.ts';
import { createMetrics } from '@posthorn/core/platform/process/metrics.ts';
import type { Shutdown } from '@posthorn/core/platform/process/shutdown.ts';
import { createSandboxServer, type SandboxServer } from '@posthorn/network/sandbox/server.ts';
import { startBilling } from '@posthorn/server/billing/start.ts';
import { startMessaging } from '@posthorn/server/messaging/start.ts';
import { openWorkerRoles } from '@posthorn/worker/roles.ts';
import { openDataDir } from './data-dir.ts';
import { openData } from './open-data.ts';
import { ensurePortsFree } from './ports.ts';
import type { Settings } from './settings.ts';

export interface Standalone {
  messagingUrl: string;
  billingUrl: string;
  /** Of the sandbox's control API; null when the network is elsewhere. */
  sandboxUrl: string | null;
  dataDir: string;
  /** Where the embedded database is kept; null with DATABASE_URL. */
  databaseDir: string | null;
}

interface StandaloneDeps {
  settings: Settings;
  log: Log;
  shutdown: Shutdown;
  /** Told in one line when a part died under us, and nothing can go on. */
  onDeath(what: string): void;
}

/**
 * All roles in one process, every part that no setting names embedded (ERR-16). What is opened is closed
 * by `shutdown`, the last first. Rejects with a StartError, or as the roles do.
 */
export async function startStandalone(deps: StandaloneDeps): Promise<Standalone> {
  const { log, shutdown } = deps;
  const { config: given, embedded } = deps.settings;
  // First of all: whoever types npm start twice is told that, not that a port is in use.
  const held = openDataDir(given.DATA_DIR);
  shutdown.add('data folder', held.release);
  await ensurePortsFree(given.HOST, [given.PORT, given.BILLING_PORT]);
  if (embedded.sandbox) await ensurePortsFree(given.SANDBOX_HOST, [given.SANDBOX_PORT]);
  const { config, databaseDir } = await openData({ ...deps, dataDir: held.dir });
  await migrate(config.DATABASE_URL);

  const sandbox = embedded.sandbox ? await openSandbox(config, deps) : null;
  const broker = embedded.broker
    ? createInProcessBroker()
    : createRabbitBroker({ url: config.AMQP_URL, log });
  shutdown.add('broker', () => broker.close());
  const parts = {
    config: { ...config, SANDBOX_URL: sandbox?.url ?? config.SANDBOX_URL },
    clock: await openDatabaseClock({ url: config.DATABASE_URL, log, shutdown }),
    log,
    metrics: createMetrics(),
    shutdown,
    bus: await openBus({ url: config.DATABASE_URL, log, shutdown, name: 'standalone' }),
  };
  // Two services, two /metrics; what the process itself uses stands in the other.
  const billingPort = await startBilling({ ...parts, metrics: createMetrics({ collectProcess: false }) });
  const billingUrl = urlOf(config.HOST, billingPort);
  // The others reach it where it listens, also on a port that was free by chance.
  parts.config.BILLING_INTERNAL_URL ??= billingUrl;
  const worker = await openWorkerRoles({ ...parts, broker });
  const port = await startMessaging({ ...parts, queues: worker.queues });
  await worker.start();
  return {
    messagingUrl: urlOf(config.HOST, port),
    billingUrl,
    sandboxUrl: sandbox?.controlUrl ?? null,
    dataDir: config.DATA_DIR,
    databaseDir,
  };
}

/** Where a browser on this machine finds what listens on `host`. */
function urlOf(host: string, port: number): string {
  const reachable = host === '0.0.0.0' || host === '::' ? '127.0.0.1' : host;
  return `http://${reachable.includes(':') ? `[${reachable}]` : reachable}:${port}`;
}

/** The simulated network, which the driver reaches over a real connection even in one process. */
async function openSandbox(config: Config, { log, shutdown }: StandaloneDeps): Promise<SandboxServer> {
  const sandbox = await createSandboxServer({
    port: config.SANDBOX_PORT,
    host: config.SANDBOX_HOST,
    allowedHosts: config.SANDBOX_ALLOWED_HOSTS.split(','),
    autoPair: config.SANDBOX_AUTO_PAIR,
    keepMessages: config.SANDBOX_KEEP_MESSAGES,
    dataDir: path.join(config.DATA_DIR, 'sandbox'),
    log,
  });
  shutdown.add('sandbox network', () => sandbox.close());
  return sandbox;
}
