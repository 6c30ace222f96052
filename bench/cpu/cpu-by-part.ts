import { mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { loadAccepts } from '../load.ts';
import { type BenchDatabases, startMessaging } from '../servers.ts';
import { cpuTimeOfTreeUs, cpuTimeUs } from './process-time.ts';
import { partsOfProfile } from './profile-parts.ts';

export interface CpuByPart {
  /** Microseconds per accepted message; the parts of the API add up to about `api`. */
  api: number;
  postgres: number;
  parts: { part: string; us: number }[];
}

/**
 * Measures the CPU cost of one accepted message, by part. The profiler itself makes the API slightly more
 * expensive.
 */
export async function measureCpu(databases: BenchDatabases, seconds: number): Promise<CpuByPart> {
  const url = await databases.create('bench_cpu', 'posthorn');
  const dir = mkdtempSync(path.join(tmpdir(), 'posthorn-profile-'));
  const server = await startMessaging(databases.open(url), url, {
    env: { NODE_OPTIONS: `--cpu-prof --cpu-prof-dir=${dir}` },
  });
  try {
    const warm = await loadAccepts(server.target, 2);
    const pid = server.process.pid();
    const apiBefore = cpuTimeUs(pid);
    const postgresBefore = cpuTimeOfTreeUs(databases.server.pid());
    const round = await loadAccepts(server.target, seconds);
    const api = (cpuTimeUs(pid) - apiBefore) / round.accepted;
    const postgres = (cpuTimeOfTreeUs(databases.server.pid()) - postgresBefore) / round.accepted;
    // The profile is written when the process exits by itself.
    await server.process.kill('SIGTERM');
    const parts = partsOfProfile(largestFile(dir));
    const total = warm.accepted + round.accepted;
    return {
      api,
      postgres,
      parts: [...parts].map(([part, us]) => ({ part, us: us / total })).sort((a, b) => b.us - a.us),
    };
  } finally {
    await server.process.kill();
    rmSync(dir, { recursive: true, force: true });
  }
}

/** Worker threads write their own profiles: the main thread's is the largest. */
export function largestFile(dir: string): string {
  const files = readdirSync(dir).map((name) => path.join(dir, name));
  const sorted = files.sort((a, b) => statSync(b).size - statSync(a).size);
  if (!sorted[0]) throw new Error('the server wrote no profile');
  return sorted[0];
}
