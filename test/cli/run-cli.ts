import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { watchedEnv } from '../support/answers/watched-env.ts';
import { baseEnv } from '../support/process.ts';
import { MSGCTL } from './msgctl.ts';

export interface CliResult {
  code: number | null;
  stdout: string;
  stderr: string;
}

export interface Cli {
  /** The profile file of this user. */
  config: string;
  run(args: readonly string[], env?: Record<string, string>, stdin?: string | Uint8Array): Promise<CliResult>;
  /** Runs it with `--json` and returns its parsed output; throws when it failed. */
  json<T = Record<string, unknown>>(args: readonly string[], env?: Record<string, string>): Promise<T>;
  /** Starts a command that keeps running; `stop` sends Ctrl-C. */
  start(
    args: readonly string[],
    env?: Record<string, string>,
  ): { output(): string; stop(): Promise<CliResult>; ended: Promise<CliResult> };
  remove(): void;
}

/** Far more than any command takes: a hanging command fails its test. */
const TIMEOUT_MS = 60_000;

/** Runs msgctl as a user with their own profile, against the given addresses. */
export function createCli(
  env: Record<string, string> = {},
  {
    timeoutMs = TIMEOUT_MS,
    killSignal = 'SIGKILL',
    cwd,
    program = MSGCTL,
  }: { timeoutMs?: number; killSignal?: NodeJS.Signals; cwd?: string; program?: string } = {},
): Cli {
  const home = mkdtempSync(path.join(tmpdir(), 'posthorn-cli-'));
  const config = path.join(home, 'config', 'config.json');

  function start(args: readonly string[], more: Record<string, string> = {}, stdin?: string | Uint8Array) {
    const child = spawn(process.execPath, [program, ...args], {
      cwd: cwd ?? home,
      env: { ...baseEnv(), ...watchedEnv(), HOME: home, POSTHORN_CONFIG: config, ...env, ...more },
      stdio: 'pipe',
      timeout: timeoutMs,
      // It treats SIGTERM like Ctrl-C: a command that continues after the first would still end with 130.
      killSignal,
    });
    // A command that does not read its input breaks the pipe.
    child.stdin.on('error', () => undefined).end(stdin);
    let output = '';
    const collect = (chunk: Buffer) => {
      output += chunk;
    };
    child.stdout.on('data', collect);
    child.stderr.on('data', collect);
    const ended = Promise.all([once(child, 'exit'), text(child.stdout), text(child.stderr)]).then(
      ([[code], stdout, stderr]) => ({ code: code as number | null, stdout, stderr }),
    );
    return {
      output: () => output,
      ended,
      stop() {
        child.kill('SIGINT');
        return ended;
      },
    };
  }
  const run: Cli['run'] = (args, more, stdin) => start(args, more, stdin).ended;

  return {
    config,
    run,
    async json<T>(args: readonly string[], more?: Record<string, string>) {
      const { code, stdout, stderr } = await run([...args, '--json'], more);
      if (code !== 0) throw new Error(`msgctl ${args.join(' ')} ended with ${code}: ${stderr}`);
      return JSON.parse(stdout) as T;
    },
    start,
    remove: () => rmSync(home, { recursive: true }),
  };
}
