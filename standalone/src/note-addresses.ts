import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import type { Standalone } from './start.ts';

/** Where a start listens, under the names of the variables of msgctl; and the port of its database. */
interface Addresses {
  pid: number;
  POSTHORN_URL: string;
  POSTHORN_BILLING_URL: string;
  POSTHORN_SANDBOX_URL?: string;
  DATABASE_PORT?: number;
}

/**
 * Writes down where the services listen, for msgctl that is called in the same checkout (cli/running-service.ts), and for
 * `npm run admin`. Gives what removes the file; after a kill -9 the process that it names is gone.
 */
export function noteAddresses(standalone: Standalone): () => void {
  const { dataDir, messagingUrl, billingUrl, sandboxUrl, databasePort } = standalone;
  const file = fileIn(dataDir);
  const addresses: Addresses = {
    pid: process.pid,
    POSTHORN_URL: messagingUrl,
    POSTHORN_BILLING_URL: billingUrl,
    ...(sandboxUrl === null ? {} : { POSTHORN_SANDBOX_URL: sandboxUrl }),
    ...(databasePort === null ? {} : { DATABASE_PORT: databasePort }),
  };
  writeFileSync(file, `${JSON.stringify(addresses, null, 2)}\n`, { mode: 0o600 });
  return () => rmSync(file, { force: true });
}

/** The note of the start that runs on the folder; null when none does. */
export function readAddresses(dataDir: string): Addresses | null {
  try {
    const addresses = JSON.parse(readFileSync(fileIn(dataDir), 'utf8')) as Addresses;
    process.kill(addresses.pid, 0);
    return addresses;
  } catch {
    return null;
  }
}

function fileIn(dataDir: string): string {
  return path.join(dataDir, 'addresses.json');
}
