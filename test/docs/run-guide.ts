import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { Standalone } from '../cli/start-standalone.ts';
import { watchedEnv } from '../support/answers/watched-env.ts';
import { linkDependencies } from '../support/built-sdk.ts';
import { baseEnv, projectRoot, waitFor } from '../support/process.ts';
import { reap } from '../support/reaper.ts';
import type { Block } from './guide-blocks.ts';

const BLOCK_TIMEOUT_MS = 90_000;

export interface Reader {
  /** Follows blocks in order and returns their output. Throws at the first one that fails. */
  follow(name: string, blocks: readonly Block[]): Promise<string>;
  leave(): void;
}

/**
 * A reader who follows guides in one terminal and one folder: later blocks have the variables that a block exports. The
 * SDK is installed there, and msgctl is on the PATH. `ports` replaces the port of a guide by a free one.
 */
export function createReader(system: Standalone, ports: Readonly<Record<string, string>>): Reader {
  const home = mkdtempSync(path.join(tmpdir(), 'posthorn-guides-'));
  const folder = path.join(home, 'work');
  const bin = path.join(home, 'bin');
  for (const made of [folder, bin]) mkdirSync(made);
  writeFileSync(
    path.join(folder, 'package.json'),
    JSON.stringify({ private: true, type: 'module', dependencies: { '@posthorn/sdk': '*' } }),
  );
  linkDependencies(folder);
  symlinkSync(path.join(projectRoot, 'cli/bin/msgctl.js'), path.join(bin, 'msgctl'));
  symlinkSync(process.execPath, path.join(bin, 'node'));
  const exported = path.join(home, 'exported');
  writeFileSync(exported, '');
  const env = {
    ...baseEnv(),
    ...watchedEnv(),
    HOME: home,
    PATH: `${bin}${path.delimiter}${process.env.PATH}`,
    POSTHORN_CONFIG: path.join(home, 'config.json'),
    POSTHORN_URL: system.url,
    POSTHORN_SANDBOX_URL: system.sandboxUrl,
    POSTHORN_BILLING_URL: system.billingUrl,
  };

  const withPorts = (code: string) =>
    Object.entries(ports).reduce((text, [from, to]) => text.replaceAll(from, to), code);

  function start(block: Block, told: { output: string }): ChildProcess {
    const code = withPorts(block.code);
    const program = path.join(folder, `block-${block.line}.${block.language === 'ts' ? 'ts' : 'mjs'}`);
    if (block.language !== 'sh') writeFileSync(program, code);
    const command = block.language === 'sh' ? code : `node ${program}`;
    // Moved there as a whole: a block that keeps running may end while the next one reads the file, or be killed while
    // it writes.
    const keep = `export -p > '${exported}'.$$\nmv '${exported}'.$$ '${exported}'`;
    const script = `. '${exported}'\nset -e\n${command}\n${keep}`;
    const child = spawn('/bin/sh', ['-c', script], {
      cwd: folder,
      env,
      // A group of its own, so that the processes that the shell started end with it.
      detached: true,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    child.once('exit', reap({ pid: -(child.pid as number) }));
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (chunk) => {
        told.output += chunk;
      });
    return child;
  }

  return {
    async follow(name, blocks) {
      const told = { output: '' };
      const goingOn: ChildProcess[] = [];
      try {
        for (const block of blocks) {
          if (block.notRun !== null) continue;
          if (block.file !== null) {
            writeFileSync(path.join(folder, block.file), withPorts(block.code));
            continue;
          }
          const since = told.output.length;
          const where = () => `${name}:${block.line}\n${told.output.slice(since)}`;
          if (block.after) await sees(block.after, () => told.output, where);
          const child = start(block, told);
          if (block.until) {
            goingOn.push(child);
            await sees(block.until, () => told.output.slice(since), where);
          } else {
            const timer = setTimeout(() => endGroup(child), BLOCK_TIMEOUT_MS);
            const [code] = await once(child, 'close');
            clearTimeout(timer);
            if (code !== 0) throw new Error(`ended with ${code}: ${where()}`);
          }
        }
        return told.output;
      } finally {
        for (const child of goingOn) await end(child);
      }
    },
    leave: () => rmSync(home, { recursive: true, force: true, maxRetries: 10 }),
  };
}

async function sees(what: RegExp, output: () => string, where: () => string): Promise<void> {
  await waitFor(() => what.test(output()), BLOCK_TIMEOUT_MS).catch(() => {
    throw new Error(`never showed ${what}: ${where()}`);
  });
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const closed = once(child, 'close');
  endGroup(child);
  await closed;
}

function endGroup(child: ChildProcess): void {
  try {
    process.kill(-(child.pid as number), 'SIGKILL');
  } catch {
    // It has ended by itself.
  }
}
