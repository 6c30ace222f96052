import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { Db } from '@posthorn/core/platform/database/db.ts';
import { controlOf } from '@posthorn/test/network/sandbox-harness.ts';
import { freePort, type RunningProcess, startProcess, waitFor } from '@posthorn/test/support/process.ts';
import { seedCompany, seedInstance } from '@posthorn/test/support/seed.ts';
import { startSystem } from '@posthorn/test/support/system.ts';
import type { Target } from '../load.ts';
import { type BenchDatabases, SECRETS, startReference } from '../servers.ts';
import type { Receiver } from './receiver.ts';

export interface Pipeline {
  name: string;
  target: Target;
  /** Process id of the single process that does everything. */
  pid?: number;
  /** The sandbox network's control API; absent without a network. */
  sandboxUrl?: string;
  stop(): Promise<unknown>;
}

const INSTANCES = 20;

/** Starts ours in one process: standalone, with its database on the server that all share. */
export async function startStandalone(
  databases: BenchDatabases,
  receiver: Receiver,
  options: { database?: string; instances?: number; env?: Record<string, string> } = {},
): Promise<Pipeline> {
  const { url, sandboxUrl, process, db } = await launchStandalone(
    databases,
    options.database ?? 'bench_standalone',
    options.env,
  );
  const target = await prepare(db, {
    ...{ url, sandboxUrl, receiver },
    instances: options.instances ?? INSTANCES,
  });
  const stop = () => process.kill('SIGTERM');
  return { name: 'posthorn, one process', target, pid: process.pid(), sandboxUrl, stop };
}

/** Starts the process alone, on a database of its own. */
export async function launchStandalone(
  databases: BenchDatabases,
  database: string,
  env: Record<string, string> = {},
): Promise<{ url: string; sandboxUrl: string; process: RunningProcess; db: Db }> {
  const databaseUrl = await databases.create(database, 'empty');
  const [port, sandboxPort] = [await freePort(), await freePort()];
  const url = `http://127.0.0.1:${port}`;
  const process = await startProcess({
    entry: 'standalone/main.js',
    env: {
      ...SECRETS,
      LOG_LEVEL: 'warn',
      DATABASE_URL: databaseUrl,
      DATA_DIR: await mkdtemp(path.join(tmpdir(), 'posthorn-bench-')),
      PORT: String(port),
      BILLING_PORT: String(await freePort()),
      SANDBOX_PORT: String(sandboxPort),
      ...env,
    },
    ready: { url: `${url}/ready` },
  });
  const sandboxUrl = `http://127.0.0.1:${sandboxPort}`;
  return { url, sandboxUrl, process, db: databases.open(databaseUrl) };
}

/** Starts ours as separate processes, through RabbitMQ. */
export async function startThroughRabbit(
  databases: BenchDatabases,
  amqpUrl: string,
  receiver: Receiver,
): Promise<Pipeline> {
  const url = await databases.create('bench_rabbitmq', 'posthorn');
  const system = await startSystem({
    databaseUrl: url,
    amqpUrl,
    env: { NODE_ENV: 'production', BILLING_SIMULATED: 'true' },
  });
  const target = await prepare(system.db, {
    url: system.urls[0] ?? '',
    sandboxUrl: system.sandboxUrl,
    receiver,
    instances: INSTANCES,
  });
  return { name: 'posthorn, RabbitMQ', target, stop: () => system.stop() };
}

/** Starts the plain pipeline; `env` has AMQP_URL if it hands off through RabbitMQ. */
export async function startPlain(
  databases: BenchDatabases,
  receiver: Receiver,
  options: { name: string; database: string; env?: Record<string, string> },
): Promise<Pipeline> {
  const url = await databases.create(options.database, 'reference');
  const server = await startReference('plain', {
    DATABASE_URL: url,
    WEBHOOK_URL: receiver.url,
    ...options.env,
  });
  return { name: options.name, target: server.target, stop: () => server.process.kill() };
}

/** Starts the speed-only pipeline. */
export async function startLimit(databases: BenchDatabases, receiver: Receiver): Promise<Pipeline> {
  const url = await databases.create('bench_limit', 'reference');
  const server = await startReference('limit', { DATABASE_URL: url, WEBHOOK_URL: receiver.url });
  return { name: 'limit, one process', target: server.target, stop: () => server.process.kill() };
}

/**
 * Makes a company with connected instances and, with a receiver, a webhook. Nobody reads: messages are only sent and
 * delivered.
 */
export async function prepare(
  db: Db,
  at: { url: string; sandboxUrl: string; receiver?: Receiver; instances: number },
): Promise<Target> {
  const { url, sandboxUrl, receiver, instances } = at;
  await controlOf(sandboxUrl).post('/defaults', { auto_read: false });
  const company = await seedCompany(db, { requestsPerMinute: 100_000_000 });
  const instanceIds: string[] = [];
  for (let i = 0; i < instances; i += 1) {
    instanceIds.push(
      await seedInstance(db, company.companyId, {
        state: 'CREATED',
        wanted: 'connected',
        settings: { humanize_enabled: false },
      }),
    );
  }
  if (receiver) {
    const created = await fetch(`${url}/v1/webhooks`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-api-key': company.apiKey },
      body: JSON.stringify({ url: receiver.url, events: ['message.sent'] }),
    });
    if (created.status !== 201)
      throw new Error(`the webhook was not made: ${created.status} ${await created.text()}`);
  }
  await waitFor(
    async () => {
      const found = await db.query<{ n: number }>(
        `SELECT count(*)::integer AS n FROM instances WHERE company_id = $1 AND state = 'CONNECTED'`,
        [company.companyId],
      );
      return found.rows[0]?.n === instances;
    },
    120_000,
    { what: 'the instances are connected' },
  );
  return { url, instanceIds, apiKey: company.apiKey };
}
