import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { watchedEnv } from '../support/answers/watched-env.ts';
import { linkDependencies } from '../support/built-sdk.ts';
import { baseEnv, projectRoot, waitFor } from '../support/process.ts';
import { reap } from '../support/reaper.ts';

export interface Example {
  /** The copy that it runs in. */
  folder: string;
  start(command: readonly string[], env?: Record<string, string>): RunningExample;
  remove(): void;
}

export interface RunningExample {
  output(): string;
  /** Waits until its output matches, and returns the match; throws with the output when it never does. */
  shows(what: RegExp): Promise<RegExpExecArray>;
  kill(signal?: NodeJS.Signals): Promise<void>;
  /** Its exit code. */
  ended: Promise<number | null>;
}

/** A folder of examples/ that a user has copied, with `npm install` done there. */
export function copyExample(name: string): Example {
  const folder = mkdtempSync(path.join(tmpdir(), `posthorn-example-${name}-`));
  cpSync(path.join(projectRoot, 'examples', name), folder, {
    recursive: true,
    filter: (source) => !source.endsWith('node_modules') && !source.endsWith('__pycache__'),
  });
  if (existsSync(path.join(folder, 'package.json'))) linkDependencies(folder);
  const running: ChildProcess[] = [];
  return {
    folder,
    start([program = '', ...args], env = {}) {
      const child = spawn(program === 'node' ? process.execPath : program, args, {
        cwd: folder,
        env: { ...baseEnv(), ...watchedEnv(), ...env },
        stdio: ['ignore', 'pipe', 'pipe'],
      });
      running.push(child);
      child.once('exit', reap({ pid: child.pid }));
      let output = '';
      for (const stream of [child.stdout, child.stderr])
        stream.on('data', (chunk) => {
          output += chunk;
        });
      const ended = once(child, 'close').then(([code]) => code as number | null);
      return {
        output: () => output,
        ended,
        shows: (what) =>
          waitFor(() => what.exec(output), 30_000).catch(() => {
            throw new Error(`${name} never showed ${what}:\n${output}`);
          }),
        async kill(signal = 'SIGKILL') {
          child.kill(signal);
          await ended;
        },
      };
    },
    remove() {
      for (const child of running) child.kill('SIGKILL');
      rmSync(folder, { recursive: true });
    },
  };
}
