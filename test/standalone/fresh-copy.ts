import { spawnSync } from 'node:child_process';
import { chmodSync, chownSync, cpSync, existsSync, mkdirSync, realpathSync, rmSync } from 'node:fs';
import path from 'node:path';
import { projectRoot } from '@posthorn/test/support/process.ts';
import { makeReachableDir } from '@posthorn/test/support/reachable-dir.ts';

/** Who runs the commands: nothing set is "the user we are". */
export interface Person {
  uid?: number;
  gid?: number;
}

/** An ordinary user: ourselves, or, when we are root, the one that every system has. */
export function ordinaryUser(): Person {
  return process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : {};
}

export interface FreshCopy {
  /** The checkout. */
  dir: string;
  /** The Node that its npm scripts use. */
  node: string;
  /** Removes it and the database it may have put elsewhere. */
  remove(): void;
}

const NOT_CLONED = new Set(['node_modules', '.data', '.git', 'dist', 'coverage']);

/**
 * The project as a fresh clone has it after `npm ci`, belonging to `person`. The installed packages are
 * linked (hard links where the file system allows), not installed anew: that would take half a minute
 * and a network. `parentMode` is that of the folder above, e.g. 0o700 for root's directory.
 */
export function makeFreshCopy(person: Person = {}, parentMode = 0o755): FreshCopy {
  const base = realpathSync(makeReachableDir('posthorn-fresh-', person));
  const dir = path.join(base, 'posthorn');
  mkdirSync(dir, { mode: 0o755 });
  cpSync(projectRoot, dir, {
    recursive: true,
    verbatimSymlinks: true,
    filter: (source) => source === projectRoot || !NOT_CLONED.has(path.basename(source)),
  });
  for (const folder of ['.', 'openapi', 'sdk', 'cli', 'bench', 'test', 'server', 'core']) {
    const from = path.join(projectRoot, folder, 'node_modules');
    if (existsSync(from)) link(from, path.join(dir, folder, 'node_modules'));
  }
  chmodSync(base, parentMode);
  if (person.uid !== undefined) {
    chownSync(base, person.uid, person.gid as number);
    chownSync(dir, person.uid, person.gid as number);
  }
  const own = path.join(dir, 'node_modules', '.bin', 'node');
  return {
    dir,
    node: existsSync(own) ? own : process.execPath,
    remove() {
      const database = path.join(dir, '.data', 'postgres');
      if (existsSync(database))
        rmSync(realpathSync(database), { recursive: true, force: true, maxRetries: 10 });
      rmSync(base, { recursive: true, force: true, maxRetries: 10 });
    },
  };
}

function link(from: string, to: string): void {
  if (spawnSync('cp', ['-al', from, to], { stdio: 'ignore' }).status === 0) return;
  rmSync(to, { recursive: true, force: true, maxRetries: 10 });
  cpSync(from, to, { recursive: true, verbatimSymlinks: true });
}
