import { existsSync, mkdirSync, statSync } from 'node:fs';
import path from 'node:path';

/**
 * Makes a folder and those above it that are missing; nothing to do when it is there. Throws the error of the system. The `recursive`
 * of Node tries for ever where the folder above is there and takes no new one, as in `/proc`.
 */
export function makeFolder(folder: string, mode = 0o777): void {
  try {
    mkdirSync(folder, { mode });
  } catch (err) {
    const { code } = err as NodeJS.ErrnoException;
    if (code === 'EEXIST' && statSync(folder).isDirectory()) return;
    const above = path.dirname(folder);
    if (code !== 'ENOENT' || existsSync(above)) throw err;
    makeFolder(above, mode);
    makeFolder(folder, mode);
  }
}
