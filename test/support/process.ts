import { type ChildProcess, spawn } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { mkdirSync } from 'node:fs';
import { createServer } from 'node:net';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { reap } from './reaper.ts';

export const projectRoot = path.resolve(import.meta.dirname, '../..');

/** Below the ports that systems give to outgoing connections: one of those took a "free" port now and then. */
const PORTS = { from: 12_000, to: 32_000 };

// Module state on purpose: a test file that runs alone has no runner to pass it a folder.
const own = new Set<number>();

/** True for the first process of the whole run that asks for the port: all share the folder POSTHORN_TEST_PORTS. */
function claimPort(port: number): boolean {
  const claims = process.env.POSTHORN_TEST_PORTS;
  if (!claims) return own.size < own.add(port).size;
  try {
    // Making a folder is atomic.
    mkdirSync(path.join(claims, String(port)));
    return true;
  } catch (err) {
    if ((err as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw err;
  }
}

/** A port on 127.0.0.1 that was free a moment ago, and that no other process of this run has got. */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = randomInt(PORTS.from, PORTS.to);
    if (claimPort(port) && (await isPortFree(port))) return port;
  }
}

/** True when nothing listens on that port of this host. */
export async function isPortFree(port: number, host = '127.0.0.1'): Promise<boolean> {
  const server = createServer().listen(port, host);
  const isFree = await once(server, 'listening').then(
    () => true,
    (err: NodeJS.ErrnoException) => {
      if (err.code === 'EADDRINUSE') return false;
      throw err;
    },
  );
  if (!isFree) return false;
  server.close();
  await once(server, 'close');
  return true;
}

/** Longer than anything takes on a busy machine. A test whose condition never holds takes this long to fail. */
const WAIT_MAX_MS = 30_000;

/**
 * The interval grows from the first to the last: an answer comes at most a twentieth later than it could, and hundreds
 * of waiting tests leave the processor to those that work.
 */
const ASK_EVERY_MS = { first: 20, last: 250 };
const LATER_BY = 0.05;

/**
 * Calls `condition` until it returns something truthy, and returns that. Rejects after `timeoutMs` with the last error
 * that it threw, if any, as cause. `everyMs` sets a steady interval.
 */
export async function waitFor<T>(
  condition: () => T | Promise<T>,
  timeoutMs = WAIT_MAX_MS,
  options: { what?: string; everyMs?: number } = {},
): Promise<Exclude<T, false | null | undefined>> {
  const sinceMs = performance.now();
  const deadline = sinceMs + timeoutMs;
  const pauseMs = () =>
    Math.min(ASK_EVERY_MS.last, Math.max(ASK_EVERY_MS.first, (performance.now() - sinceMs) * LATER_BY));
  let cause: unknown;
  for (;;) {
    try {
      const result = await condition();
      if (result) return result as Exclude<T, false | null | undefined>;
      cause = undefined;
    } catch (err) {
      cause = err;
    }
    if (performance.now() > deadline) {
      const what = options.what ?? String(condition).replaceAll(/\s+/g, ' ').slice(0, 120);
      throw new Error(`not within ${timeoutMs} ms: ${what}`, { cause });
    }
    await delay(options.everyMs ?? pauseMs());
  }
}

/** The whole system in one process, with its database made anew, on a machine with other things to do. */
const START_MAX_MS = 90_000;

export interface ProcessOptions {
  /** Relative to the root, e.g. `server/messaging/main.ts`. */
  entry: string;
  /** The folder of another checkout; by default this one. */
  root?: string;
  args?: readonly string[];
  /** Its whole environment beside PATH, HOME and TMPDIR: nothing of the caller's environment leaks in. */
  env?: Readonly<Record<string, string>>;
  /** The sign that it has started: a line of its output, or a URL that answers 2xx. */
  ready: { line: RegExp } | { url: string };
  timeoutMs?: number;
}

/** One of our own programs, run by the Node that runs the tests. It dies with the test process. */
export interface RunningProcess {
  pid(): number;
  /** Everything written to stdout and stderr so far, restarts included. */
  output(): string;
  /** Sends a signal and does not wait: SIGSTOP, SIGCONT, SIGHUP... */
  signal(signal: NodeJS.Signals): void;
  /** Sends a signal that ends it (default SIGKILL) and waits for the end; gives the exit code, null after a signal. */
  kill(signal?: NodeJS.Signals): Promise<number | null>;
  /** Starts it again, killing it first if it runs, with `env` added. Resolves when it is ready. */
  restart(env?: Readonly<Record<string, string>>): Promise<void>;
}

export async function startProcess(options: ProcessOptions): Promise<RunningProcess> {
  let env = options.env ?? {};
  let child: ChildProcess;
  let output = '';

  const launch = async () => {
    const since = output.length;
    child = spawn(process.execPath, [options.entry, ...(options.args ?? [])], {
      cwd: options.root ?? projectRoot,
      env: { ...baseEnv(), ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const collect = (chunk: Buffer) => {
      output += chunk;
    };
    child.stdout?.on('data', collect);
    child.stderr?.on('data', collect);
    const forget = reap({ pid: child.pid });
    child.once('exit', forget);
    const fail = (why: string) =>
      new Error(`${options.entry} ${why}; its last output:\n${output.slice(since).slice(-3_000)}`);
    const ended = () => child.exitCode !== null || child.signalCode !== null;
    await waitFor(
      async () => ended() || (await isReady(options.ready, output.slice(since))),
      options.timeoutMs ?? START_MAX_MS,
    ).catch(async () => {
      const said = 'url' in options.ready ? await whatItSays(options.ready.url) : '';
      child.kill('SIGKILL');
      throw fail(`was not ready in time ${said}`);
    });
    if (ended()) throw fail(`ended with ${child.exitCode ?? child.signalCode} before it was ready`);
  };

  const kill = async (signal: NodeJS.Signals = 'SIGKILL') => {
    if (child.exitCode !== null || child.signalCode !== null) return child.exitCode;
    const exit = once(child, 'exit');
    child.kill(signal);
    await exit;
    return child.exitCode;
  };

  await launch();
  return {
    pid: () => child.pid as number,
    output: () => output,
    signal: (signal) => void child.kill(signal),
    kill,
    async restart(added = {}) {
      await kill();
      env = { ...env, ...added };
      await launch();
    },
  };
}

/** The variables that every child needs to run at all. */
export function baseEnv(): Record<string, string> {
  const names = ['PATH', 'HOME', 'TMPDIR', 'NODE_V8_COVERAGE', 'NODE_COMPILE_CACHE'];
  return Object.fromEntries(names.flatMap((name) => (process.env[name] ? [[name, process.env[name]]] : [])));
}

/** The last answer of the URL that a start waited for, for the error of a start that took too long. */
async function whatItSays(url: string): Promise<string> {
  return fetch(url, { signal: AbortSignal.timeout(2_000) }).then(
    async (answer) => `(${answer.status} ${(await answer.text()).slice(0, 500)})`,
    (err: Error) => `(${err.cause ?? err.message})`,
  );
}

async function isReady(ready: ProcessOptions['ready'], output: string): Promise<boolean> {
  if ('line' in ready) return ready.line.test(output);
  const answer = await fetch(ready.url, { signal: AbortSignal.timeout(2_000) }).catch(() => null);
  await answer?.body?.cancel();
  return answer?.ok === true;
}
