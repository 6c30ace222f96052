import { spawnSync } from 'node:child_process';
import { rmSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';
import type { Mortal } from './reaper.ts';
import { stopEpmd } from './stop-epmd.ts';

/**
 * The process behind reaper.ts. It gets the list of mortals on stdin; when stdin ends, its parent has ended, and it
 * ends them.
 */
const mortals = new Map<number, Mortal>();

// Ctrl-C reaches the whole terminal group; this process cleans up and has to end last.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => {});

for await (const line of createInterface({ input: process.stdin })) {
  const { id, mortal } = JSON.parse(line) as { id: number; mortal?: Mortal };
  if (mortal) mortals.set(id, mortal);
  else mortals.delete(id);
}

const all = [...mortals.values()];
for (const { pid, signal } of all) if (pid) tell(pid, signal ?? 'SIGKILL');
const deadline = Date.now() + 2_000;
while (Date.now() < deadline && all.some(({ pid }) => pid && tell(pid, 0))) await delay(20);
for (const { pid } of all) if (pid) tell(pid, 'SIGKILL');
for (const { epmdPort } of all) if (epmdPort) await stopEpmd(epmdPort);
for (const { command } of all) {
  const [program, ...args] = command ?? [];
  if (program) spawnSync(program, args, { stdio: 'ignore' });
}
for (const { dir } of all) {
  if (dir) rmSync(dir, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 });
}

/** False when there is no such process. */
function tell(pid: number, signal: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(pid, signal);
  } catch {
    return false;
  }
}
