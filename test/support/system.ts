import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { clusterUrl } from '@posthorn/core/platform/database/cluster-url.ts';
import { createDb, type Db } from '@posthorn/core/platform/database/db.ts';
import { createLog } from '@posthorn/core/platform/process/log.ts';
import { freePort, type RunningProcess, startProcess } from './process.ts';

/** Several processes that start at once on a busy machine take their time. */
const START_TIMEOUT_MS = 90_000;

export interface SystemWorker extends RunningProcess {
  /** Where its /ready, /health and /metrics are. */
  url: string;
}

/** The system as operators run it: processes of their own on PostgreSQL and RabbitMQ. */
export interface System {
  db: Db;
  env: Record<string, string>;
  sandboxUrl: string;
  sandbox: RunningProcess;
  /** Base URLs of the messaging servers, one a process. */
  urls: string[];
  messaging: RunningProcess[];
  /** Of the billing servers, one a process. */
  billingUrls: string[];
  billing: RunningProcess[];
  workers: SystemWorker[];
  addWorker(): Promise<SystemWorker>;
  /** Fires when it stops: whoever sends to it ends too. */
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
  env?: Record<string, string>;
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
    // The tests of faults count at their end all that they sent.
    SANDBOX_KEEP_MESSAGES: '50000',
    // Chosen by who runs the tests: sends of a session without an answer at the same time.
    ...(process.env.SANDBOX_WINDOW ? { SANDBOX_WINDOW: process.env.SANDBOX_WINDOW } : {}),
    ...options.env,
  };
  const sandboxUrl = `http://127.0.0.1:${sandboxPort}`;
  const sandbox = await startProcess({
    timeoutMs: START_TIMEOUT_MS,
    entry: 'network/sandbox/main.ts',
    env,
    ready: { url: `${sandboxUrl}/health` },
  });
  const startServers = async (count: number, entry: string, portSetting: string) => {
    const started: { url: string; running: RunningProcess }[] = [];
    for (let i = 0; i < count; i += 1) {
      const port = await freePort();
      const url = `http://127.0.0.1:${port}`;
      const ready = { url: `${url}/ready` };
      const running = await startProcess({
        entry,
        env: { ...env, [portSetting]: String(port) },
        ready,
        timeoutMs: START_TIMEOUT_MS,
      });
      started.push({ url, running });
    }
    return started;
  };
  const messagingServers = await startServers(options.messaging ?? 1, 'server/messaging/main.ts', 'PORT');
  const billingServers = await startServers(options.billing ?? 0, 'server/billing/main.ts', 'BILLING_PORT');
  const messaging = messagingServers.map(({ running }) => running);
  const billing = billingServers.map(({ running }) => running);
  const addWorker = async (): Promise<SystemWorker> => {
    const port = await freePort();
    const url = `http://127.0.0.1:${port}`;
    const running = await startProcess({
      entry: 'worker/main.ts',
      env: { ...env, WORKER_PORT: String(port) },
      ready: { url: `${url}/ready` },
      timeoutMs: START_TIMEOUT_MS,
    });
    return { ...running, url };
  };
  const workers: SystemWorker[] = [];
  for (let i = 0; i < (options.workers ?? 1); i += 1) workers.push(await addWorker());
  const stopping = new AbortController();
  const log = createLog({ level: 'silent', role: 'test' });
  const db = createDb({ url: clusterUrl(options.databaseUrl), poolSize: 8, log, name: 'test' });
  return {
    db,
    env,
    sandboxUrl,
    sandbox,
    urls: messagingServers.map(({ url }) => url),
    messaging,
    billingUrls: billingServers.map(({ url }) => url),
    billing,
    workers,
    async addWorker() {
      const worker = await addWorker();
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
