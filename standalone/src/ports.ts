import { once } from 'node:events';
import { createServer } from 'node:net';
import { StartError } from '@posthorn/core/platform/run-main.ts';

/**
 * Rejects if one of the ports, named like their settings, is taken: before the database is created, not after. Other
 * faults of listening are thrown as they are.
 */
export async function ensurePortsFree(host: string, ports: Readonly<Record<string, number>>): Promise<void> {
  for (const [name, port] of Object.entries(ports)) {
    if (port === 0) continue;
    const probe = createServer().listen(port, host);
    await once(probe, 'listening').catch((err: NodeJS.ErrnoException) => {
      if (err.code !== 'EADDRINUSE') throw err;
      throw new StartError(`port ${port} is in use: stop what listens there, or set ${name} to another one`);
    });
    probe.close();
    await once(probe, 'close');
  }
}
