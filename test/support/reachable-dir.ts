import { chmodSync, mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { type ServerUser, userMay } from '@posthorn/standalone/src/embedded-postgres/server-user.ts';

/** A new folder that the server's user can reach, whatever TMPDIR and the umask are, or one in `base`. */
export function makeReachableDir(prefix: string, user: ServerUser, base = reachable(user)): string {
  const dir = mkdtempSync(path.join(base, prefix));
  if (user.uid !== undefined) chmodSync(dir, 0o755);
  return dir;
}

function reachable(user: ServerUser): string {
  return user.uid === undefined || userMay(user, '-x', [tmpdir()]) ? tmpdir() : '/tmp';
}
