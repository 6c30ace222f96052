import { rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import type { Standalone } from './start.ts';

/**
 * Writes down where the services listen, for msgctl that is called in the same checkout (cli/running-service.ts). Gives
 * what removes the file; after a kill -9 the process that it names is gone.
 */
export function noteAddresses(standalone: Standalone): () => void {
  const { dataDir, messagingUrl, billingUrl, sandboxUrl } = standalone;
  const file = path.join(dataDir, 'addresses.json');
  const addresses = {
    pid: process.pid,
    POSTHORN_URL: messagingUrl,
    POSTHORN_BILLING_URL: billingUrl,
    ...(sandboxUrl === null ? {} : { POSTHORN_SANDBOX_URL: sandboxUrl }),
  };
  writeFileSync(file, `${JSON.stringify(addresses, null, 2)}\n`, { mode: 0o600 });
  return () => rmSync(file, { force: true });
}
