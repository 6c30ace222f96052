import { execFileSync, spawnSync } from 'node:child_process';
import { statSync } from 'node:fs';
import { StartError } from '@posthorn/core/platform/run-main.ts';

/** Who runs the server: PostgreSQL refuses root. An empty object is "the user we are". */
export interface ServerUser {
  uid?: number;
  gid?: number;
}

/**
 * The user that PostgreSQL runs as. For an ordinary user: itself. For root: whoever owns `dataDir` when
 * that is there (a `postgres` user that appears later must not lock the data out), else `postgres`, else
 * `nobody`; no user is ever made on the machine. Throws when there is none of these.
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
 * Whether that user may do `test` (`-r`, `-x` as in test(1)) with every one of the paths. Asked of the
 * system itself, as that user: mode bits alone miss access lists and read-only mounts.
 */
export function userMay(user: ServerUser, test: '-r' | '-x', paths: readonly string[]): boolean {
  const script = `for path; do test ${test} "$path" || exit 1; done`;
  return spawnSync('/bin/sh', ['-c', script, 'sh', ...paths], { ...user, cwd: '/' }).status === 0;
}
