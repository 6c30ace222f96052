import { once } from 'node:events';
import { createServer } from 'node:net';
import { listenFault } from '@posthorn/core/platform/listen-fault.ts';

/**
 * Rejects if one of the ports, named like their settings as the host is, cannot be listened on: before the database is
 * created, not after.
 */
export async function ensurePortsFree(
  host: Readonly<{ name: string; value: string }>,
  ports: Readonly<Record<string, number>>,
): Promise<void> {
  for (const [name, port] of Object.entries(ports)) {
    const probe = createServer().listen(port, host.value);
    await once(probe, 'listening').catch(
      listenFault({ host: host.value, port }, { host: host.name, port: name }),
    );
    probe.close();
    await once(probe, 'close');
  }
}
