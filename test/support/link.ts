import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { listen } from './listen.ts';

/** A way to a server. */
export interface Link {
  port: number;
  close(): Promise<void>;
}

/** Opens a way on which `join` passes the bytes of each connection. When one end closes, the other one is destroyed. */
export async function openLink(
  target: { host: string; port: number },
  join: (near: Socket, far: Socket) => void,
): Promise<Link> {
  const open = new Set<Socket>();
  const server = createServer((near) => {
    const far = connect(target.port, target.host);
    join(near, far);
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
  const port = await listen(server);
  return {
    port,
    async close() {
      server.close();
      for (const socket of open) socket.destroy();
      await once(server, 'close');
    },
  };
}
