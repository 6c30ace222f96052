import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createDb, type Db } from '@posthorn/core/platform/db.ts';
import { createLog } from '@posthorn/core/platform/log.ts';
import { freePort, type RunningProcess, startProcess } from './process.ts';

/** The system as operators run it: processes of their own on PostgreSQL and RabbitMQ. */
export interface System {
  db: Db;
  env: Record<string, string>;
  sandboxUrl: string;
  sandbox: RunningProcess;
  /** Base URLs of the messaging servers, one a process. */
  urls: string[];
  messaging: RunningProcess[];
  workers: RunningProcess[];
  addWorker(): Promise<RunningProcess>;
  /** Fires when it stops: whoever sends to it ends too. */
  stopping: AbortSignal;
  stop(): Promise<void>;
}

/** Half a minute was not enough on a machine that is busy with others. */
const START_MS = 120_000;

/** Starts a sandbox network, `messaging` API servers and `workers` workers on the given parts. */
export async function startSystem(options: {
  databaseUrl: string;
  amqpUrl: string;
  messaging?: number;
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
    ...options.env,
  };
  const sandboxUrl = `http://127.0.0.1:${sandboxPort}`;
  const sandbox = await startProcess({
    timeoutMs: START_MS,
    entry: 'network/sandbox/main.ts',
    env,
    ready: { url: `${sandboxUrl}/health` },
  });
  const urls: string[] = [];
  const messaging: RunningProcess[] = [];
  for (let i = 0; i < (options.messaging ?? 1); i += 1) {
    const port = await freePort();
    const url = `http://127.0.0.1:${port}`;
    urls.push(url);
    messaging.push(
      await startProcess({
        timeoutMs: START_MS,
        entry: 'server/messaging/main.ts',
        env: { ...env, PORT: String(port) },
        ready: { url: `${url}/ready` },
      }),
    );
  }
  const addWorker = async () => {
    const port = await freePort();
    return startProcess({
      timeoutMs: START_MS,
      entry: 'worker/main.ts',
      env: { ...env, WORKER_PORT: String(port) },
      ready: { url: `http://127.0.0.1:${port}/ready` },
    });
  };
  const workers: RunningProcess[] = [];
  for (let i = 0; i < (options.workers ?? 1); i += 1) workers.push(await addWorker());
  const stopping = new AbortController();
  const log = createLog({ level: 'silent', role: 'test' });
  const db = createDb({ url: options.databaseUrl, poolSize: 8, log, name: 'test' });
  return {
    db,
    env,
    sandboxUrl,
    sandbox,
    urls,
    messaging,
    workers,
    async addWorker() {
      const worker = await addWorker();
      workers.push(worker);
      return worker;
    },
    stopping: stopping.signal,
    async stop() {
      stopping.abort(new Error('the system was stopped'));
      await Promise.all([...messaging, ...workers].map((process) => process.kill('SIGTERM')));
      await sandbox.kill('SIGTERM');
      await db.close();
      await rm(dataDir, { recursive: true, force: true });
    },
  };
}
