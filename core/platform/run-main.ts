import { ConfigError } from './config.ts';
import { isUnavailable } from './database/database-errors.ts';
import type { Shutdown } from './process/shutdown.ts';
import { StorageError } from './storage/storage.ts';

/** A fault that ends a start with one line; any other error is a fault of ours and is printed with its stack. */
export class StartError extends Error {
  override name = 'StartError';
}

/**
 * Runs the main of a process. An error that stops the start becomes one line on stderr that names it, and exit code 1:
 * a bad setting, a port in use, an unreachable database. A main that names its shutdown by `endsBy` may be ended by a signal while
 * it starts: the shutdown closes parts, the rest of the start fails without them, and the shutdown alone gives the exit code.
 */
export async function runMain(
  name: string,
  main: (endsBy: (shutdown: Shutdown) => void) => Promise<void>,
): Promise<void> {
  let shutdown: Shutdown | undefined;
  try {
    await main((known) => {
      shutdown = known;
    });
  } catch (err) {
    if (shutdown?.isDraining()) return;
    process.stderr.write(`${name}: ${explain(err, name)}\n`);
    process.exit(1);
  }
}

/** By the code of an error, what is wrong with a folder. */
export const FOLDER_FAULTS: Readonly<Record<string, string>> = {
  EACCES: 'not ours to write',
  EPERM: 'not ours to write',
  EROFS: 'read-only',
  ENOSPC: 'the disk is full',
  EDQUOT: 'the disk is full',
  ENOTDIR: 'something in its path is no folder',
  EEXIST: 'it is no folder',
  ENOENT: 'it is not there and cannot be made',
};

/** Processes that other workers may declare dead: a worker, and `npm start`. */
const HOLDS_SHARDS: ReadonlySet<string> = new Set(['worker', 'posthorn']);

function explain(err: unknown, name: string): string {
  if (err instanceof ConfigError || err instanceof StartError) return oneLine(err.message);
  if (!(err instanceof Error)) return String(err);
  if (err instanceof StorageError) return `the media storage: ${oneLine(withCauses(err))}`;
  const { code, path } = err as NodeJS.ErrnoException;
  const fault = FOLDER_FAULTS[code ?? ''];
  // Only errors of files have a path; one of a write to an open file says no more than that the disk is full.
  if (fault !== undefined && path !== undefined)
    return `${path} cannot be used: ${fault}; DATA_DIR names the folder`;
  if (code === 'ENOSPC' || code === 'EDQUOT') return `DATA_DIR cannot be written: ${fault}`;
  if (code === '42P01' || code === '42703')
    return 'the database is not at the schema of this version: run npm run migrate first';
  if (code === '28P01' || code === '28000' || code === '3D000')
    return `DATABASE_URL: ${oneLine(err.message)}`;
  if (code === '42501')
    return `DATABASE_URL: its user lacks a right (${oneLine(err.message)}): let it own the database`;
  // Everything else that speaks TLS is tried again instead of ending a start.
  if (/does not support SSL/.test(err.message))
    return 'DATABASE_URL: its sslmode asks for TLS, which the server does not speak';
  if (code === 'ERR_TLS_CERT_ALTNAME_INVALID')
    return 'DATABASE_URL: the certificate of the server has another name: use that name, which is no IP address';
  if (/CERT|^ERR_TLS_/.test(code ?? ''))
    return `DATABASE_URL: ${oneLine(err.message)}: NODE_EXTRA_CA_CERTS names a file with certificates to trust`;
  if (/^(53|25006$)/.test(code ?? '')) return `the database takes no work: ${oneLine(err.message)}`;
  if (code === '57P01') {
    const ended = `the database ended a connection of this process (${oneLine(err.message)}): it stops, or`;
    return HOLDS_SHARDS.has(name)
      ? `${ended} another worker took this one for dead because its start stood still`
      : `${ended} somebody ended that connection: run it again`;
  }
  if (isUnavailable(err))
    return `the database cannot be reached: ${oneLine(err.message || String(code))}; DATABASE_URL names it`;
  return err.stack ?? err.message;
}

/** The message with those of its causes: the storage's own error says only that it failed, and its cause says why. */
export function withCauses(err: unknown): string {
  if (!(err instanceof Error)) return String(err);
  return err.cause === undefined ? err.message : `${err.message}: ${withCauses(err.cause)}`;
}

function oneLine(text: string): string {
  return text
    .split('\n')
    .map((line) => line.trim())
    .filter(Boolean)
    .join(' ');
}
