import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

/** A way to a server on which each connection can be made to end after a random number of bytes, in the middle of what is said. */
export interface RaggedLink {
  port: number;
  /** Connections that were cut so far. */
  cuts(): number;
  /** From now on each connection is cut once its bytes are used up, at once if they are. */
  fray(): void;
  /** From now on connections live. */
  mend(): void;
  close(): Promise<void>;
}

/**
 * Each direction of each connection passes between `fewest` and `most` bytes, of each order of size as often. The cut passes
 * the bytes before it, and then resets the connection or ends it in order, at both ends.
 */
export async function openRaggedLink(
  target: { host: string; port: number },
  bytes: { fewest: number; most: number },
): Promise<RaggedLink> {
  let isWhole = true;
  let cuts = 0;
  const open = new Set<Socket>();

  const server = createServer((near) => {
    const far = connect(target.port, target.host);
    for (const [own, other] of [
      [near, far],
      [far, near],
    ] as const) {
      open.add(own);
      let left = bytes.fewest * (bytes.most / bytes.fewest) ** Math.random();
      own.on('data', (chunk) => {
        if (isWhole || chunk.length < left) {
          left = Math.max(0, left - chunk.length);
          if (other.writable) other.write(chunk);
          return;
        }
        cuts += 1;
        own.removeAllListeners('data').pause();
        other.write(chunk.subarray(0, left), () => {
          if (Math.random() < 0.5) for (const socket of [own, other]) socket.resetAndDestroy();
          else for (const socket of [own, other]) socket.destroy();
        });
      });
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
    cuts: () => cuts,
    fray() {
      isWhole = false;
    },
    mend() {
      isWhole = true;
    },
    async close() {
      server.close();
      for (const socket of open) socket.destroy();
      await once(server, 'close');
    },
  };
}
