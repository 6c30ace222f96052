import { once } from 'node:events';
import { createServer } from 'node:net';

/**
 * Rejects like listening would (EADDRINUSE with the port) if one of the ports is taken: before the database
 * is created, not after.
 */
export async function ensurePortsFree(host: string, ports: readonly number[]): Promise<void> {
  for (const port of ports) {
    if (port === 0) continue;
    const probe = createServer().listen(port, host);
    await once(probe, 'listening');
    probe.close();
    await once(probe, 'close');
  }
}
