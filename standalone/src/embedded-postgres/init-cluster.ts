import { execFile } from 'node:child_process';
import { chownSync, existsSync, mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';
import { StartError } from '@posthorn/core/platform/run-main.ts';
import type { DataDirectory } from './data-directory.ts';

const run = promisify(execFile);

/** The superuser of the embedded server, and the owner of its only database. */
export const SUPERUSER = 'posthorn';

/**
 * Creates `directory.data` unless it exists. It is created under another name and renamed, so an interrupted
 * start leaves nothing that looks like a database.
 */
export async function initCluster(
  directory: DataDirectory,
  binaries: string,
  password: string,
): Promise<void> {
  if (existsSync(path.join(directory.data, 'PG_VERSION'))) return;
  const making = `${directory.data}.new`;
  rmSync(making, { recursive: true, force: true });
  mkdirSync(making, { mode: 0o700 });
  giveTo(making, directory);
  const passwordFile = path.join(directory.dir, 'password');
  rmSync(passwordFile, { force: true });
  writeFileSync(passwordFile, password, { mode: 0o600 });
  giveTo(passwordFile, directory);
  try {
    await run(
      path.join(binaries, 'bin', 'initdb'),
      [
        ...['-D', making, '-U', SUPERUSER, '--auth=scram-sha-256', `--pwfile=${passwordFile}`],
        // The same on every machine: index order must not depend on a locale of the system.
        ...['--encoding=UTF8', '--locale=C', '--locale-provider=builtin', '--builtin-locale=C.UTF-8'],
      ],
      { ...directory.user, env: serverEnv(), cwd: directory.dir },
    );
  } catch (cause) {
    const said = String((cause as { stderr?: string }).stderr ?? '').trim();
    throw new StartError(`the database could not be made: ${reasonIn(said) || String(cause)}`, { cause });
  } finally {
    rmSync(passwordFile, { force: true });
  }
  renameSync(making, directory.data);
}

/** The whole environment of the server's programs: nothing from ours, which may contain secrets. */
export function serverEnv(): Record<string, string> {
  return { PATH: process.env.PATH ?? '/usr/bin:/bin', LC_ALL: 'C', TZ: 'UTC' };
}

/** After its fault initdb tells what it cleans up, and hints. */
function reasonIn(said: string): string | undefined {
  const lines = said.split('\n');
  return lines.find((line) => /error:|FATAL|PANIC/.test(line)) ?? lines.at(-1);
}

function giveTo(file: string, { user }: DataDirectory): void {
  if (user.uid !== undefined) chownSync(file, user.uid, user.gid as number);
}
