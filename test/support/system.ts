import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { clusterUrl } from '@posthorn/core/platform/database/cluster-url.ts';
import { createDb, type Db } from '@posthorn/core/platform/database/db.ts';
import { createLog } from '@posthorn/core/platform/process/log.ts';
import { freePort, type RunningProcess, startProcess } from './process.ts';

/** Several processes that start at once on a busy machine take long. */
const START_TIMEOUT_MS = 90_000;

export interface ServingProcess extends RunningProcess {
  /** The address where it listens; for a worker, the address of its /ready, /health and /metrics. */
  url: string;
}
export type SystemWorker = ServingProcess;

/** How one process differs from the others of its system. */
export interface Start {
  /** The folder of another release. */
  root?: string;
  env?: Record<string, string>;
}

const ROLES = {
  messaging: { entry: 'server/messaging/main.ts', portSetting: 'PORT' },
  billing: { entry: 'server/billing/main.ts', portSetting: 'BILLING_PORT' },
  workers: { entry: 'worker/main.ts', portSetting: 'WORKER_PORT' },
} as const;
type Role = keyof typeof ROLES;

/** The system as operators run it: processes of their own on PostgreSQL and RabbitMQ. */
export interface System {
  db: Db;
  env: Record<string, string>;
  sandboxUrl: string;
  sandbox: RunningProcess;
  /** Base URLs of the messaging servers, one a process. */
  urls: string[];
  messaging: ServingProcess[];
  /** Base URLs of the billing servers, one a process. */
  billingUrls: string[];
  billing: ServingProcess[];
  workers: SystemWorker[];
  addMessaging(start?: Start): Promise<ServingProcess>;
  addBilling(start?: Start): Promise<ServingProcess>;
  addWorker(start?: Start): Promise<SystemWorker>;
  /** Fires when the system stops, so that whoever sends to it stops too. */
  stopping: AbortSignal;
  stop(): Promise<void>;
}

/** Starts a sandbox network and so many servers and workers on the given parts. No billing unless asked for. */
export async function startSystem(options: {
  databaseUrl: string;
  amqpUrl: string;
  messaging?: number;
  billing?: number;
  workers?: number;
  /** Environment variables for all its processes. */
  env?: Record<string, string>;
  /** The folder of another release; all processes run it unless they are added with their own. */
  root?: string;
}): Promise<System> {
  const dataDir = await mkdtemp(path.join(tmpdir(), 'posthorn-system-'));
  const sandboxPort = await freePort();
  const env: Record<string, string> = {
    NODE_ENV: 'test',
    LOG_LEVEL: 'warn',
    DATA_DIR: dataDir,
    DATABASE_URL: options.databaseUrl,
    AMQP_URL: options.amqpUrl,
    SANDBOX_PORT: String(sandboxPort),
    SANDBOX_URL: `ws://127.0.0.1:${sandboxPort}/ws`,
    JWT_SECRET: randomBytes(32).toString('hex'),
    ENCRYPTION_KEY: randomBytes(32).toString('hex'),
    ALLOW_PRIVATE_WEBHOOKS: 'true',
    PUBLIC_RATE_PER_MINUTE: '1000000',
    // The tests of faults count all their sends at their end.
    SANDBOX_KEEP_MESSAGES: '50000',
    // The number of sends of a session without an answer at the same time, set by the person who runs the tests.
    ...(process.env.SANDBOX_WINDOW ? { SANDBOX_WINDOW: process.env.SANDBOX_WINDOW } : {}),
    ...options.env,
  };
  const sandboxUrl = `http://127.0.0.1:${sandboxPort}`;
  const sandbox = await startProcess({
    timeoutMs: START_TIMEOUT_MS,
    entry: 'network/sandbox/main.ts',
    ...(options.root === undefined ? {} : { root: options.root }),
    env,
    ready: { url: `${sandboxUrl}/health` },
  });
  const startRole = async (role: Role, { root = options.root, env: added }: Start = {}) => {
    const { entry, portSetting } = ROLES[role];
    const port = await freePort();
    const url = `http://127.0.0.1:${port}`;
    const start = () =>
      startProcess({
        entry,
        ...(root === undefined ? {} : { root }),
        env: { ...env, ...added, [portSetting]: String(port) },
        ready: { url: `${url}/ready` },
        timeoutMs: START_TIMEOUT_MS,
      });
    // A start that stalls on a busy machine is declared dead by another worker and ends: as a service manager would, once more.
    const running = await start().catch((err: Error) => {
      if (!err.message.includes('terminating connection due to administrator command')) throw err;
      return start();
    });
    return { ...running, url };
  };
  const startSeveral = async (role: Role, count: number) => {
    const started: ServingProcess[] = [];
    for (let i = 0; i < count; i += 1) started.push(await startRole(role));
    return started;
  };
  const messaging = await startSeveral('messaging', options.messaging ?? 1);
  const billing = await startSeveral('billing', options.billing ?? 0);
  const workers = await startSeveral('workers', options.workers ?? 1);
  const urls = messaging.map(({ url }) => url);
  const billingUrls = billing.map(({ url }) => url);
  const stopping = new AbortController();
  const log = createLog({ level: 'silent', role: 'test' });
  const db = createDb({ url: clusterUrl(options.databaseUrl), poolSize: 8, log, name: 'test' });
  return {
    db,
    env,
    sandboxUrl,
    sandbox,
    urls,
    messaging,
    billingUrls,
    billing,
    workers,
    async addMessaging(start) {
      const server = await startRole('messaging', start);
      messaging.push(server);
      urls.push(server.url);
      return server;
    },
    async addBilling(start) {
      const server = await startRole('billing', start);
      billing.push(server);
      billingUrls.push(server.url);
      return server;
    },
    async addWorker(start) {
      const worker = await startRole('workers', start);
      workers.push(worker);
      return worker;
    },
    stopping: stopping.signal,
    async stop() {
      stopping.abort(new Error('the system was stopped'));
      await Promise.all([...messaging, ...billing, ...workers].map((process) => process.kill('SIGTERM')));
      await sandbox.kill('SIGTERM');
      await db.close();
      await rm(dataDir, { recursive: true, force: true, maxRetries: 10 });
    },
  };
}
