import { randomBytes } from 'node:crypto';
import { migrate } from '@posthorn/core/migrations/migrate.ts';
import { PATIENT_LIMITS } from '@posthorn/core/platform/database/connection-limits.ts';
import { createDb, type Db } from '@posthorn/core/platform/database/db.ts';
import { createLog } from '@posthorn/core/platform/process/log.ts';
import { type PostgresServer, startPostgres } from '@posthorn/test/support/postgres.ts';
import { freePort, type RunningProcess, startProcess } from '@posthorn/test/support/process.ts';
import { seedCompany, seedInstance } from '@posthorn/test/support/seed.ts';
import type { Target } from './load.ts';
import { REFERENCE_TABLES } from './references/tables.ts';

/** The load is spread over this many instances. */
const INSTANCES = 20;

export interface BenchServer {
  name: string;
  process: RunningProcess;
  target: Target;
}

/** One PostgreSQL for every server of a run, with fsync, so that all have the same disk cost. */
export interface BenchDatabases {
  server: PostgresServer;
  create(name: string, kind: 'posthorn' | 'reference' | 'empty'): Promise<string>;
  open(url: string): Db;
  stop(): Promise<void>;
}

export async function startDatabases(): Promise<BenchDatabases> {
  const server = await startPostgres({ fsync: true });
  const log = createLog({ level: 'warn', role: 'bench' });
  const opened: Db[] = [];
  const open = (url: string) => {
    // Filling a table takes long.
    const db = createDb({ url, poolSize: 4, log, name: 'bench', limits: PATIENT_LIMITS });
    opened.push(db);
    return db;
  };
  const admin = open(server.url);
  return {
    server,
    open,
    async create(name, kind) {
      await admin.query(`CREATE DATABASE ${name}`);
      const url = server.urlOf(name);
      if (kind === 'posthorn') await migrate(url);
      if (kind === 'reference') await open(url).query(REFERENCE_TABLES);
      return url;
    },
    async stop() {
      await Promise.all(opened.map((db) => db.close()));
      await server.stop();
    },
  };
}

/** Starts a reference server of this folder, on its own database. */
export async function startReference(
  name: string,
  env: Record<string, string> = {},
  args: { label?: string } = {},
): Promise<BenchServer> {
  const port = await freePort();
  const process = await startProcess({
    entry: `bench/references/${name}.ts`,
    env: { NODE_ENV: 'production', PORT: String(port), ...env },
    ready: { line: /ready/ },
  });
  const target = {
    url: `http://127.0.0.1:${port}`,
    instanceIds: ['00000000-0000-7000-8000-000000000000'],
    apiKey: `svc_${'0'.repeat(64)}`,
  };
  return { name: args.label ?? name, process, target };
}

export const SECRETS = {
  JWT_SECRET: randomBytes(32).toString('hex'),
  ENCRYPTION_KEY: randomBytes(32).toString('hex'),
};

/** Starts our messaging server in its own process, with instances marked as connected and the guard on. */
export async function startMessaging(
  db: Db,
  databaseUrl: string,
  options: { label?: string; env?: Record<string, string> } = {},
): Promise<BenchServer> {
  const port = await freePort();
  const process = await startProcess({
    entry: 'server/messaging/main.ts',
    env: {
      ...SECRETS,
      ...options.env,
      NODE_ENV: 'production',
      LOG_LEVEL: 'warn',
      PORT: String(port),
      DATABASE_URL: databaseUrl,
      AMQP_URL: 'amqp://127.0.0.1:1',
    },
    ready: { url: `http://127.0.0.1:${port}/health` },
  });
  const company = await seedCompany(db, { requestsPerMinute: 100_000_000 });
  const instanceIds: string[] = [];
  for (let i = 0; i < INSTANCES; i += 1) instanceIds.push(await seedInstance(db, company.companyId));
  return {
    name: options.label ?? 'posthorn',
    process,
    target: { url: `http://127.0.0.1:${port}`, instanceIds, apiKey: company.apiKey },
  };
}
