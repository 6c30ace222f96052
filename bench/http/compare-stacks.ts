import { cpuTimeUs } from '../cpu/process-time.ts';
import { loadAccepts } from '../load.ts';
import { startReference } from '../servers.ts';
import { median } from '../statistics.ts';

export interface StackRow {
  stack: string;
  /** CPU time of the server's process, without the client's. */
  cpuUsPerRequest: number;
  requestsPerSecond: number;
}

const STACKS = ['node', 'express', 'ts-rest', 'ts-rest-last', 'posthorn'] as const;

/** The cost per request of the HTTP stack alone: medians of alternating rounds (docs/decisions/0001). */
export async function compareStacks(options: { rounds: number; seconds: number }): Promise<StackRow[]> {
  const servers = await Promise.all(
    STACKS.map((stack) => startReference('stack', { STACK: stack }, { label: stack })),
  );
  const seen = new Map(
    STACKS.map((stack) => [stack as string, { cpu: [] as number[], rate: [] as number[] }]),
  );
  try {
    for (const server of servers) await loadAccepts(server.target, 1);
    for (let round = 0; round < options.rounds; round += 1) {
      for (const { name, process, target } of servers) {
        const before = cpuTimeUs(process.pid());
        const { accepted, acceptedPerSecond } = await loadAccepts(target, options.seconds);
        seen.get(name)?.cpu.push((cpuTimeUs(process.pid()) - before) / accepted);
        seen.get(name)?.rate.push(acceptedPerSecond);
      }
    }
  } finally {
    for (const server of servers) await server.process.kill();
  }
  return [...seen].map(([stack, { cpu, rate }]) => ({
    stack,
    cpuUsPerRequest: median(cpu),
    requestsPerSecond: median(rate),
  }));
}
