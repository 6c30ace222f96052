import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, readlinkSync, rmSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { StartError } from '@posthorn/core/platform/run-main.ts';

/** How long a server may take to stop before it gets a stronger signal. */
const PATIENCE_MS = 10_000;

/**
 * Cleans up after a killed start in `data`: stops its server if it still runs; if another program has the pid
 * by now, removes the pid file and leaves that program alone. Call it only while holding the lock of
 * DATA_DIR. Returns the stopped pid, or null.
 * The server is stopped, not taken over: we can wait for a child process, it ends with us, and the stop costs
 * 0.1 s.
 */
export async function endStaleProcess(data: string): Promise<number | null> {
  const pidFile = path.join(data, 'postmaster.pid');
  if (!existsSync(pidFile)) return null;
  const pid = Number(readFileSync(pidFile, 'utf8').split('\n')[0]);
  // PostgreSQL removes the file of a dead server itself, and also checks whether its memory is still in use.
  if (!Number.isInteger(pid) || pid <= 0 || !isAlive(pid)) return null;
  if (!isServerOf(pid, data)) {
    rmSync(pidFile, { force: true });
    return null;
  }
  // Fast shutdown, then immediate: both keep committed data.
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
    // Another user's process is alive too, but we may not signal it.
    return (err as NodeJS.ErrnoException).code === 'EPERM';
  }
  // A dead child that was never waited for (a container without an init) still answers to signal 0.
  return !/^\d+ \(.*\) Z/s.test(read(`/proc/${pid}/stat`));
}

/** Whether the process is a postgres on this very folder, by its working directory or its arguments. */
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
    // Root without CAP_SYS_PTRACE, as in most containers, may not read that link.
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
