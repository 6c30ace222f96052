import { type ChildProcess, spawn } from 'node:child_process';
import path from 'node:path';

/** Something that must not outlive this process. */
export interface Mortal {
  /** A negative number names a process group, as in kill(2). */
  pid?: number | undefined;
  /** The signal that ends it in order; SIGKILL follows two seconds later. */
  signal?: NodeJS.Signals;
  /** A folder to remove once the processes are gone. */
  dir?: string;
  /** The port of a private Erlang port mapper. */
  epmdPort?: number;
  /** A command that ends it, when it is no process of ours. */
  command?: readonly string[];
}

// One a process, started with the first use. Module state on purpose: a test that forgets to stop a server, throws
// half-way or is killed with SIGKILL must leave nothing behind, and no `finally` covers that.
let reaper: ChildProcess | undefined;
let sequence = 0;

/**
 * Makes sure that `mortal` is ended and removed when this process ends, however it ends. Returns the function to call
 * after it was stopped in order.
 */
export function reap(mortal: Mortal): () => void {
  reaper ??= start();
  const { stdin } = reaper;
  sequence += 1;
  const id = sequence;
  stdin?.write(`${JSON.stringify({ id, mortal })}\n`);
  return () => void stdin?.write(`${JSON.stringify({ id })}\n`);
}

function start(): ChildProcess {
  const child = spawn(process.execPath, [path.join(import.meta.dirname, 'reaper-main.ts')], {
    stdio: ['pipe', 'ignore', 'ignore'],
    detached: true,
  });
  child.unref();
  // The pipe must not keep this process alive: its closing is the signal.
  (child.stdin as unknown as { unref(): void }).unref();
  child.stdin?.on('error', () => {});
  return child;
}
