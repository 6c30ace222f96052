import { chmodSync, mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { type ServerUser, userMay } from '@posthorn/standalone/src/embedded-postgres/server-user.ts';

/** A new folder that the server's user can reach, whatever TMPDIR and the umask are. */
export function makeReachableDir(prefix: string, user: ServerUser): string {
  const base = user.uid === undefined || userMay(user, '-x', [tmpdir()]) ? tmpdir() : '/tmp';
  const dir = mkdtempSync(path.join(base, prefix));
  if (user.uid !== undefined) chmodSync(dir, 0o755);
  return dir;
}
