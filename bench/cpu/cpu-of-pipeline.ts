import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { Db } from '@posthorn/core/platform/database/db.ts';
import { measureRate } from '../end-to-end/drive.ts';
import { startStandalone } from '../end-to-end/pipelines.ts';
import { startReceiver } from '../end-to-end/receiver.ts';
import { startDatabases } from '../servers.ts';
import { type CpuByPart, largestFile } from './cpu-by-part.ts';
import { cpuTimeOfTreeUs, cpuTimeUs } from './process-time.ts';
import { PIPELINE_PARTS, partsOfProfile } from './profile-parts.ts';

export interface CpuOfPipeline extends CpuByPart {
  statements: { statement: string; us: number; calls: number }[];
}

/**
 * Measures the CPU cost of one message from the request to its webhook, in one process (`api`, including the
 * simulated network) and in PostgreSQL, by part and by statement. The profiler and the statistics make both
 * more expensive: `api` and `postgres` come from a run without them.
 */
export async function measureCpuOfPipeline(messages: number): Promise<CpuOfPipeline> {
  const plain = await measure(messages, {});
  const detailed = await measure(messages, { withDetails: true });
  return { ...detailed, api: plain.api, postgres: plain.postgres };
}

async function measure(messages: number, options: { withDetails?: boolean }): Promise<CpuOfPipeline> {
  // A separate server: the statistics must be loaded when it starts.
  const databases = await startDatabases();
  const receiver = await startReceiver();
  const dir = mkdtempSync(path.join(tmpdir(), 'posthorn-profile-'));
  try {
    const admin = databases.open(databases.server.url);
    if (options.withDetails) {
      await admin.query(`ALTER SYSTEM SET shared_preload_libraries = 'pg_stat_statements'`);
      await databases.server.restart();
      await admin.query('CREATE EXTENSION pg_stat_statements');
    }
    const pipeline = await startStandalone(databases, receiver, {
      database: 'bench_cpu_pipeline',
      env: options.withDetails ? { NODE_OPTIONS: `--cpu-prof --cpu-prof-dir=${dir}` } : {},
    });
    let stopped = false;
    try {
      const warm = Math.ceil(messages / 4);
      await measureRate(pipeline.target, receiver, warm);
      if (options.withDetails) await admin.query('SELECT pg_stat_statements_reset()');
      const before = { node: cpuTimeUs(pipeline.pid!), postgres: cpuTimeOfTreeUs(databases.server.pid()) };
      await measureRate(pipeline.target, receiver, messages);
      const api = (cpuTimeUs(pipeline.pid!) - before.node) / messages;
      const postgres = (cpuTimeOfTreeUs(databases.server.pid()) - before.postgres) / messages;
      if (!options.withDetails) return { api, postgres, parts: [], statements: [] };
      const statements = await readStatements(admin, messages);
      // The profile is written when the process exits by itself.
      await pipeline.stop();
      stopped = true;
      const parts = partsOfProfile(largestFile(dir), PIPELINE_PARTS);
      return { api, postgres, statements, parts: perMessage(parts, messages + warm) };
    } finally {
      if (!stopped) await pipeline.stop();
    }
  } finally {
    receiver.close();
    rmSync(dir, { recursive: true, force: true });
    await databases.stop();
  }
}

function perMessage(parts: ReadonlyMap<string, number>, messages: number): CpuByPart['parts'] {
  return [...parts].map(([part, us]) => ({ part, us: us / messages })).sort((a, b) => b.us - a.us);
}

/**
 * The most expensive statements, by execution and planning time, with their number of runs per 1,000
 * messages.
 */
async function readStatements(admin: Db, messages: number): Promise<CpuOfPipeline['statements']> {
  const { rows } = await admin.query<{ query: string; ms: number; calls: number }>(
    `SELECT query, total_exec_time + total_plan_time AS ms, calls::integer
     FROM pg_stat_statements ORDER BY ms DESC LIMIT 15`,
  );
  return rows.map(({ query, ms, calls }) => ({
    statement: query.replace(/\s+/g, ' ').trim().slice(0, 90),
    us: (ms * 1_000) / messages,
    calls: (calls * 1_000) / messages,
  }));
}
