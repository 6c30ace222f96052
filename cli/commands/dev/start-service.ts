import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { addressOf } from '../../address.ts';
import type { Context } from '../../context.ts';
import { CommandError, EXIT } from '../../fault.ts';

const START_MS = 120_000;
/** Longer than the service and its database take to stop. */
const STOP_MS = 60_000;
const PAUSE_MS = 250;

export interface Service {
  /** Ends a service that was started here; one that ran before keeps running. */
  stop(): Promise<void>;
}

/**
 * The service at the address of the context: one that runs already, else one started from the checkout that contains
 * the current folder. CommandError with exit code 3 when there is neither.
 */
export async function openService(context: Context): Promise<Service> {
  if (await isReady(context)) return { stop: async () => undefined };
  const entry = findStandalone(process.cwd());
  const url = new URL(context.url);
  const isHere = url.protocol === 'http:' && ['127.0.0.1', 'localhost', '[::1]'].includes(url.hostname);
  if (!entry || !isHere) {
    const hint = isHere ? 'call it in a checkout of Posthorn, or start a service' : 'is --url right?';
    throw new CommandError(`nothing answers at ${context.url}: ${hint}`, { exitCode: EXIT.unreachable });
  }
  return start(context, entry, url.port || '80');
}

async function start(context: Context, entry: string, port: string): Promise<Service> {
  context.out.note(`starting a service at ${context.url}, its data in .data/`);
  const sandboxPort = new URL(addressOf(context.sandboxUrl, '--sandbox-url')).port;
  const child = spawn(process.execPath, [entry], {
    cwd: path.dirname(path.dirname(entry)),
    env: { ...context.env, PORT: port, ...(sandboxPort ? { SANDBOX_PORT: sandboxPort } : {}) },
    stdio: ['ignore', 'ignore', 'pipe'],
    // In its own process group Ctrl-C does not reach it: we end it after its last events were shown.
    detached: true,
  });
  let said = '';
  child.stderr.on('data', (chunk) => {
    said = `${said}${chunk}`.slice(-2_000);
  });
  // No exit may leave the service running. A second signal would stop the service at once and leave its database
  // running.
  let isAsked = false;
  const ask = () => {
    if (!isAsked) child.kill('SIGTERM');
    isAsked = true;
  };
  process.once('exit', ask);
  const hasEnded = () => child.exitCode !== null || child.signalCode !== null;
  const stop = async () => {
    if (hasEnded()) return;
    const ended = once(child, 'exit');
    ask();
    await Promise.race([ended, delay(STOP_MS, undefined, { ref: false })]);
  };
  try {
    const deadline = performance.now() + START_MS;
    while (!(await isReady(context))) {
      if (hasEnded()) throw new CommandError(`the service did not start: ${said.trim().split('\n').at(-1)}`);
      if (performance.now() > deadline) throw new CommandError('the service is not ready after two minutes');
      await delay(PAUSE_MS, undefined, { signal: context.signal });
    }
    return { stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

async function isReady(context: Context): Promise<boolean> {
  const options = { retries: 0, timeoutMs: 5_000, signal: context.signal };
  return context
    .anonymous()
    .health.ready({}, options)
    .then(
      () => true,
      () => false,
    );
}

/** `standalone/main.js` of the checkout that contains the folder. */
function findStandalone(folder: string): string | null {
  const entry = path.join(folder, 'standalone', 'main.js');
  if (existsSync(entry) && existsSync(path.join(folder, 'node_modules'))) return entry;
  const parent = path.dirname(folder);
  return parent === folder ? null : findStandalone(parent);
}
