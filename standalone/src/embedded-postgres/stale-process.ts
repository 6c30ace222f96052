import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, readlinkSync, rmSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { StartError } from '@posthorn/core/platform/run-main.ts';

/** How long a server that was told to stop may take before it is told more firmly. */
const PATIENCE_MS = 10_000;

/**
 * Clears what a killed start left in `data`: its server, still running, is stopped; a pid file whose
 * number another program has by now is removed, and that program left alone. Call it only while holding
 * the lock of DATA_DIR. Returns the pid that was stopped, or null.
 *
 * Stopped rather than taken over: a child can be waited for and ends with us, and the stop costs 0.1 s.
 */
export async function endStaleProcess(data: string): Promise<number | null> {
  const pidFile = path.join(data, 'postmaster.pid');
  if (!existsSync(pidFile)) return null;
  const pid = Number(readFileSync(pidFile, 'utf8').split('\n')[0]);
  // A dead one's file is left to PostgreSQL, which also looks whether its memory is still in use.
  if (!Number.isInteger(pid) || pid <= 0 || !isAlive(pid)) return null;
  if (!isServerOf(pid, data)) {
    rmSync(pidFile, { force: true });
    return null;
  }
  // Fast shutdown, then immediate: both keep what was committed.
  for (const signal of ['SIGINT', 'SIGQUIT'] as const) {
    process.kill(pid, signal);
    const deadline = performance.now() + PATIENCE_MS;
    while (performance.now() < deadline) {
      if (!isAlive(pid)) return pid;
      await delay(10);
    }
  }
  throw new StartError(`the database of an earlier start (process ${pid}) does not stop`);
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
  } catch (err) {
    // Another user's process is alive too, and not ours to signal.
    return (err as NodeJS.ErrnoException).code === 'EPERM';
  }
  // A dead child that nobody waited for (a container without an init) still answers to signal 0.
  return !/^\d+ \(.*\) Z/s.test(read(`/proc/${pid}/stat`));
}

/** True for a postgres that works on this very folder: by where it stands, or by what it was told. */
function isServerOf(pid: number, data: string): boolean {
  if (!existsSync('/proc/self/cmdline')) {
    const command = execFileSync('ps', ['-ww', '-o', 'command=', '-p', String(pid)], { encoding: 'utf8' });
    return command.includes('postgres') && command.includes(`-D ${data}`);
  }
  const [program = '', ...args] = read(`/proc/${pid}/cmdline`).split('\0');
  if (path.basename(program) !== 'postgres') return false;
  try {
    if (readlinkSync(`/proc/${pid}/cwd`) === data) return true;
  } catch {
    // Root without CAP_SYS_PTRACE, as in most containers, may not look there.
  }
  return args[args.indexOf('-D') + 1] === data;
}

function read(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}
