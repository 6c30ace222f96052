import path from 'node:path';
import { migrate } from '@posthorn/core/migrations/migrate.ts';
import type { Broker } from '@posthorn/core/platform/broker/broker.ts';
import { openBus } from '@posthorn/core/platform/broker/bus.ts';
import { createInProcessBroker } from '@posthorn/core/platform/broker/in-process.ts';
import type { Config } from '@posthorn/core/platform/config.ts';
import { openDatabaseClock } from '@posthorn/core/platform/database/database-clock.ts';
import { reconnectCounter } from '@posthorn/core/platform/database/watch-pool.ts';
import type { Log } from '@posthorn/core/platform/process/log.ts';
import { createMetrics, type Metrics } from '@posthorn/core/platform/process/metrics.ts';
import type { Shutdown } from '@posthorn/core/platform/process/shutdown.ts';
import { StartError } from '@posthorn/core/platform/run-main.ts';
import { openTracing } from '@posthorn/core/platform/tracing/open-tracing.ts';
import type { SandboxServer } from '@posthorn/network/sandbox/server.ts';
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
  /** URL of the sandbox's control API; null if the network is elsewhere. */
  sandboxUrl: string | null;
  /** The networks that instances may be on (NETWORK_DRIVERS). */
  networks: readonly string[];
  dataDir: string;
  /** The folder of the embedded database; null with DATABASE_URL, as its port. */
  databaseDir: string | null;
  databasePort: number | null;
}

interface StandaloneDeps {
  settings: Settings;
  log: Log;
  shutdown: Shutdown;
  /** Called with a one-line reason if a part died and the process cannot continue. */
  onDeath(what: string): void;
}

/**
 * Runs all roles in one process, with every part embedded that no setting names (ERR-16). `shutdown` closes
 * everything opened here, the last first. Rejects with a StartError, or with the error of a role.
 */
export async function startStandalone(deps: StandaloneDeps): Promise<Standalone> {
  const { log, shutdown } = deps;
  const { config: given, embedded } = deps.settings;
  // First of all, so that a second npm start reports that, and not a port in use.
  const held = openDataDir(given.DATA_DIR);
  shutdown.add('data folder', held.release);
  await ensurePorts(deps.settings);
  const { config, databaseDir } = await openData({ ...deps, dataDir: held.dir });
  await migrate(config.DATABASE_URL);

  const metrics = createMetrics();
  const sandbox = embedded.sandbox ? await openSandbox(config, deps) : null;
  const broker = await openBroker(config, deps, metrics);
  shutdown.add('broker', () => broker.close());
  const clock = await openDatabaseClock({ url: config.DATABASE_URL, log, shutdown });
  const parts = {
    config: { ...config, SANDBOX_URL: sandbox?.url ?? config.SANDBOX_URL },
    clock,
    log,
    metrics,
    trace: await openTracing({ config, service: 'standalone', clock, log, shutdown }),
    shutdown,
    bus: await openBus({
      url: config.DATABASE_URL,
      log,
      shutdown,
      name: 'standalone',
      onLost: reconnectCounter(metrics, 'notifications'),
    }),
  };
  // Two services, two /metrics; the process's own metrics are in the other one.
  const billingPort = await startBilling({ ...parts, metrics: createMetrics({ collectProcess: false }) });
  const billingUrl = urlOf(config.HOST, billingPort);
  // The other roles use its actual address, also if its port was picked automatically.
  parts.config.BILLING_INTERNAL_URL ??= billingUrl;
  const worker = await openWorkerRoles({ ...parts, broker });
  const port = await startMessaging({ ...parts, queues: worker.queues });
  await worker.start();
  return {
    messagingUrl: urlOf(config.HOST, port),
    billingUrl,
    sandboxUrl: sandbox?.controlUrl ?? null,
    networks: config.NETWORK_DRIVERS,
    dataDir: config.DATA_DIR,
    databaseDir,
    databasePort: databaseDir === null ? null : Number(new URL(config.DATABASE_URL).port),
  };
}

async function ensurePorts({ config, embedded }: Settings): Promise<void> {
  const { HOST, PORT, BILLING_PORT, SANDBOX_HOST, SANDBOX_PORT } = config;
  const taken = [PORT, BILLING_PORT, ...(embedded.sandbox ? [SANDBOX_PORT] : [])].filter(
    (port) => port !== 0,
  );
  if (new Set(taken).size < taken.length)
    throw new StartError('PORT, BILLING_PORT and SANDBOX_PORT: each has to be another port');
  await ensurePortsFree({ name: 'HOST', value: HOST }, { PORT, BILLING_PORT });
  if (embedded.sandbox)
    await ensurePortsFree({ name: 'SANDBOX_HOST', value: SANDBOX_HOST }, { SANDBOX_PORT });
}

/** The URL by which a browser on this machine reaches a server listening on `host`. */
function urlOf(host: string, port: number): string {
  const reachable = host === '0.0.0.0' || host === '::' ? '127.0.0.1' : host;
  return `http://${reachable.includes(':') ? `[${reachable}]` : reachable}:${port}`;
}

async function openBroker(
  config: Config,
  { settings, log }: StandaloneDeps,
  metrics: Metrics,
): Promise<Broker> {
  if (settings.embedded.broker) return createInProcessBroker();
  const { createRabbitBroker } = await import('@posthorn/core/platform/broker/rabbitmq.ts');
  return createRabbitBroker({ url: config.AMQP_URL, log, onLost: reconnectCounter(metrics, 'broker') });
}

/** Starts the simulated network; the driver connects to it over a real connection even in one process. */
async function openSandbox(config: Config, { log, shutdown }: StandaloneDeps): Promise<SandboxServer> {
  const { createSandboxServer } = await import('@posthorn/network/sandbox/server.ts');
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
