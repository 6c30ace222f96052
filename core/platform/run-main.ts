import { ConfigError } from './config.ts';
import { isUnavailable } from './database/database-errors.ts';

/** A fault that ends a start with one line; any other error is a fault of ours and is printed with its stack. */
export class StartError extends Error {
  override name = 'StartError';
}

/**
 * Runs the main of a process. An error that stops the start becomes one line on stderr that names it, and exit code 1:
 * a bad setting, a port in use, an unreachable database.
 */
export async function runMain(name: string, main: () => Promise<void>): Promise<void> {
  try {
    await main();
  } catch (err) {
    process.stderr.write(`${name}: ${explain(err)}\n`);
    process.exit(1);
  }
}

const FOLDER_FAULTS: Record<string, string> = {
  EACCES: 'not ours to write',
  EPERM: 'not ours to write',
  EROFS: 'read-only',
  ENOSPC: 'the disk is full',
  EDQUOT: 'the disk is full',
  ENOTDIR: 'something in its path is no folder',
  EEXIST: 'it is no folder',
  ENOENT: 'it is not there',
};

function explain(err: unknown): string {
  if (err instanceof ConfigError || err instanceof StartError) return oneLine(err.message);
  if (!(err instanceof Error)) return String(err);
  const { code, port, address, path } = err as NodeJS.ErrnoException & { port?: number; address?: string };
  if (code === 'EADDRINUSE') return `port ${port} is in use: stop what listens there, or set another port`;
  if (code === 'EACCES' && port !== undefined) return `port ${port} may not be listened on: set another port`;
  if (code === 'EADDRNOTAVAIL') return `${address} is no address of this machine: set HOST to one`;
  // Only errors of files have a path.
  if (path !== undefined && code !== undefined && FOLDER_FAULTS[code] !== undefined)
    return `${path} cannot be used: ${FOLDER_FAULTS[code]}; DATA_DIR names the folder`;
  if (code === '42P01' || code === '42703')
    return 'the database is not at the schema of this version: run npm run migrate first';
  if (code === '28P01' || code === '28000' || code === '3D000')
    return `DATABASE_URL: ${oneLine(err.message)}`;
  if (isUnavailable(err)) return `the database cannot be reached: ${oneLine(err.message || String(code))}`;
  return err.stack ?? err.message;
}

function oneLine(text: string): string {
  return text
    .split('\n')
    .map((line) => line.trim())
    .filter(Boolean)
    .join(' ');
}
