import { execFileSync, spawnSync } from 'node:child_process';
import { statSync } from 'node:fs';
import { StartError } from '@posthorn/core/platform/run-main.ts';

/** The user that runs the server, because PostgreSQL refuses root. An empty object means the current user. */
export interface ServerUser {
  uid?: number;
  gid?: number;
}

/**
 * Chooses the user PostgreSQL runs as. For an ordinary user: itself. For root: the owner of `dataDir` if that
 * exists (a `postgres` user added later must not lock the data out), else `postgres`, else `nobody`; never
 * creates a user. Throws if none of these exists.
 */
export function chooseServerUser(dataDir?: string): ServerUser {
  if (process.getuid?.() !== 0) return {};
  const owner = dataDir ? statSync(dataDir, { throwIfNoEntry: false }) : undefined;
  if (owner && owner.uid !== 0) return { uid: owner.uid, gid: owner.gid };
  for (const name of ['postgres', 'nobody']) {
    try {
      const id = (flag: string) => Number(execFileSync('id', [flag, name], { stdio: 'pipe' }));
      return { uid: id('-u'), gid: id('-g') };
    } catch {}
  }
  throw new StartError(
    'PostgreSQL does not run as root, and there is neither a postgres nor a nobody user: start as an ordinary user, or set DATABASE_URL',
  );
}

/**
 * Whether that user may do `test` (`-r`, `-x` as in test(1)) on each of the paths. Asks the system as that
 * user, because mode bits do not reflect access lists and read-only mounts.
 */
export function userMay(user: ServerUser, test: '-r' | '-x', paths: readonly string[]): boolean {
  const script = `for path; do test ${test} "$path" || exit 1; done`;
  return spawnSync('/bin/sh', ['-c', script, 'sh', ...paths], { ...user, cwd: '/' }).status === 0;
}
