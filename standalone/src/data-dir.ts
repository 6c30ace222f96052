import { chmodSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { makeFolder } from '@posthorn/core/platform/process/make-folder.ts';
import { FOLDER_FAULTS, StartError } from '@posthorn/core/platform/run-main.ts';

export interface DataDir {
  /** Absolute path. */
  dir: string;
  /** Lets another start use the folder. Also happens by itself when this process ends, however it ends. */
  release(): void;
}

/**
 * Creates the folder and locks it for this process. Throws a one-line error if another start holds it. The
 * lock is the kernel's, on a file, through SQLite: Node has no flock, and after a kill -9 two starts would
 * race to take over a pid file.
 */
export function openDataDir(given: string): DataDir {
  const dir = path.resolve(given);
  const pidFile = path.join(dir, 'pid');
  let lock: DatabaseSync;
  try {
    makeFolder(dir);
    // Under root the database runs as another user, who must be able to pass through this folder; nobody may
    // list it. A folder that others use as well, such as /tmp, stays as it is.
    if (readdirSync(dir).length === 0) chmodSync(dir, process.getuid?.() === 0 ? 0o711 : 0o700);
    lock = new DatabaseSync(path.join(dir, 'lock'));
  } catch (cause) {
    const { code } = cause as { code?: string };
    const why = code === 'ERR_SQLITE_ERROR' ? 'not ours to write' : (FOLDER_FAULTS[code ?? ''] ?? code);
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
