import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  cpSync,
  existsSync,
  mkdirSync,
  readFileSync,
  realpathSync,
  rmSync,
} from 'node:fs';
import path from 'node:path';
import { projectRoot } from '@posthorn/test/support/process.ts';
import { makeReachableDir } from '@posthorn/test/support/reachable-dir.ts';

/** The user who runs the commands; by default our own user. */
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
  /** Removes it, and its database when that is in another place. */
  remove(): void;
}

const NOT_CLONED = new Set(['node_modules', '.data', '.git', 'dist', 'coverage']);

export interface CopyOptions {
  /** The mode of the folder above, e.g. 0o700 for root's directory. */
  parentMode?: number;
  /** Installs only the packages that `npm start` needs: all packages are tens of thousands of files. */
  startAlone?: boolean;
}

/**
 * The project in the state of a fresh clone after `npm ci`, owned by `person`. The installed packages are linked (hard
 * links where the file system allows), not installed anew: that would take half a minute and a network.
 */
export function makeFreshCopy(
  person: Person = {},
  { parentMode = 0o755, startAlone = false }: CopyOptions = {},
): FreshCopy {
  const base = realpathSync(makeReachableDir('posthorn-fresh-', person));
  const dir = path.join(base, 'posthorn');
  mkdirSync(dir, { mode: 0o755 });
  cpSync(projectRoot, dir, {
    recursive: true,
    verbatimSymlinks: true,
    filter: (source) => source === projectRoot || !NOT_CLONED.has(path.basename(source)),
  });
  const installed = startAlone
    ? ['.bin', '@posthorn', ...packagesOfStart()].map((name) => path.join('node_modules', name))
    : ['.', 'openapi', 'sdk', 'cli', 'bench', 'test', 'server', 'core'].map((folder) =>
        path.join(folder, 'node_modules'),
      );
  for (const folder of installed) {
    const from = path.join(projectRoot, folder);
    if (existsSync(from)) link(from, path.join(dir, folder));
  }
  // The output of `prepare`.
  const built = path.join(projectRoot, 'server', 'dist');
  if (existsSync(built)) link(built, path.join(dir, 'server', 'dist'));
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

/** The packages of `node_modules` that the workspace of `npm start` depends on, and the Node that runs it. */
function packagesOfStart(): string[] {
  const modules = path.join(projectRoot, 'node_modules');
  const folders = new Set<string>();
  const addDependencies = (folder: string, kinds = ['dependencies', 'optionalDependencies']): void => {
    const manifest = JSON.parse(readFileSync(path.join(folder, 'package.json'), 'utf8'));
    for (const name of kinds.flatMap((kind) => Object.keys(manifest[kind] ?? {}))) {
      const found = resolvePackage(name, folder);
      // Optional packages exist for one system each.
      if (!found || folders.has(found)) continue;
      folders.add(found);
      addDependencies(found);
    }
  };
  addDependencies(path.join(modules, '@posthorn/standalone'));
  addDependencies(projectRoot, ['optionalDependencies']);
  // A package inside of another package is linked together with that.
  const names = [...folders].map((folder) => path.relative(modules, folder));
  return names.filter((name) => !name.includes('node_modules') && !name.startsWith('@posthorn/'));
}

/** The folder of a package as a package in `from` finds it. */
function resolvePackage(name: string, from: string): string | undefined {
  for (let folder = from; folder.startsWith(projectRoot); folder = path.dirname(folder)) {
    const found = path.join(folder, 'node_modules', name);
    if (existsSync(found)) return found;
  }
  return undefined;
}

function link(from: string, to: string): void {
  mkdirSync(path.dirname(to), { recursive: true });
  if (spawnSync('cp', ['-al', from, to], { stdio: 'ignore' }).status === 0) return;
  rmSync(to, { recursive: true, force: true, maxRetries: 10 });
  cpSync(from, to, { recursive: true, verbatimSymlinks: true });
}
