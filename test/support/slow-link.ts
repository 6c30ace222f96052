import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

/** A way to a server over which each answer takes its time, as from a database that is overloaded. */
export interface SlowLink {
  port: number;
  /** What comes from the server is held for so long from now on; what is held already keeps its time. */
  setDelay(ms: number): void;
  close(): Promise<void>;
}

export async function openSlowLink(target: { host: string; port: number }): Promise<SlowLink> {
  let delayMs = 0;
  const open = new Set<Socket>();

  const server = createServer((near) => {
    const far = connect(target.port, target.host);
    let freeAtMs = 0;
    far.on('data', (chunk) => {
      // In their order, also when the delay falls meanwhile.
      freeAtMs = Math.max(freeAtMs, performance.now() + delayMs);
      setTimeout(() => near.writable && near.write(chunk), freeAtMs - performance.now());
    });
    near.on('data', (chunk) => far.write(chunk));
    for (const [own, other] of [
      [near, far],
      [far, near],
    ] as const) {
      open.add(own);
      own.on('error', () => undefined);
      own.once('close', () => {
        open.delete(own);
        other.destroy();
      });
    }
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    setDelay(ms) {
      delayMs = ms;
    },
    async close() {
      server.close();
      for (const socket of open) socket.destroy();
      await once(server, 'close');
    },
  };
}
