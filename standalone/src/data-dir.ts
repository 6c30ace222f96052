import { chmodSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { StartError } from '@posthorn/core/platform/run-main.ts';

export interface DataDir {
  /** Absolute. */
  dir: string;
  /** Lets another start in. Also happens by itself when this process ends, however it ends. */
  release(): void;
}

/**
 * Makes the folder and takes it for this process alone. Throws one line when another start holds it.
 *
 * The lock is the kernel's, on a file, by way of SQLite: Node has no flock of its own, and a pid file
 * can't be taken over after a kill -9 without a race between two starts.
 */
export function openDataDir(given: string): DataDir {
  const dir = path.resolve(given);
  const pidFile = path.join(dir, 'pid');
  let lock: DatabaseSync;
  try {
    mkdirSync(dir, { recursive: true });
    // Root's database runs as another user, who has to pass through here; nobody may list it.
    chmodSync(dir, process.getuid?.() === 0 ? 0o711 : 0o700);
    lock = new DatabaseSync(path.join(dir, 'lock'));
  } catch (cause) {
    const { code } = cause as { code?: string };
    const why =
      code === 'ERR_SQLITE_ERROR' || code === 'EPERM' || code === 'EACCES' ? 'not ours to write' : code;
    throw new StartError(`DATA_DIR ${dir} cannot be used: ${why}`, { cause });
  }
  try {
    lock.exec('BEGIN EXCLUSIVE');
  } catch (cause) {
    lock.close();
    throw new StartError(
      `another start already runs on DATA_DIR ${dir} (its process is named in ${pidFile})`,
      {
        cause,
      },
    );
  }
  writeFileSync(pidFile, `${process.pid}\n`, { mode: 0o600 });
  return {
    dir,
    release() {
      rmSync(pidFile, { force: true });
      lock.close();
    },
  };
}
