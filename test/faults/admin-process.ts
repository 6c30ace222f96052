import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { baseEnv, projectRoot } from '../support/process.ts';
import { reap } from '../support/reaper.ts';
import type { System } from '../support/system.ts';

export interface AdminProcess {
  /** Its exit code, null after a signal, and all its output. */
  ended: Promise<{ code: number | null; output: string }>;
  /** Kills it as a power cut would, and waits for its end. */
  kill(): Promise<void>;
}

/** Starts a command of `npm run admin` beside the processes of a system. */
export function startAdmin(system: System, args: readonly string[]): AdminProcess {
  const billing = system.billingUrls[0];
  const env = { ...baseEnv(), ...system.env, ...(billing ? { BILLING_INTERNAL_URL: billing } : {}) };
  const child = spawn(process.execPath, ['admin/main.ts', ...args], {
    cwd: projectRoot,
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  const collect = (chunk: Buffer) => {
    output += chunk;
  };
  child.stdout.on('data', collect);
  child.stderr.on('data', collect);
  const forget = reap({ pid: child.pid });
  const ended = once(child, 'close').then(([code]) => {
    forget();
    return { code: code as number | null, output };
  });
  return {
    ended,
    async kill() {
      child.kill('SIGKILL');
      await ended;
    },
  };
}
