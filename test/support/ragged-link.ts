import type { Socket } from 'node:net';
import { type Link, openLink } from './link.ts';

/**
 * A way to a server on which each connection can be made to end after a random number of bytes, in the middle of a
 * message.
 */
export interface RaggedLink extends Link {
  /** Connections that were cut so far. */
  cuts(): number;
  /** From now on each connection is cut once its bytes are used up, at once if they are. */
  fray(): void;
  /** From now on connections live. */
  mend(): void;
}

/** From the middle of a handshake to some hundreds of messages. */
const BYTES = { fewest: 20, most: 400_000 };

/** The same server over such a link, and the link. */
export async function overRaggedLink(server: string): Promise<{ link: RaggedLink; url: string }> {
  const url = new URL(server);
  const link = await openRaggedLink({ host: url.hostname, port: Number(url.port) }, BYTES);
  Object.assign(url, { hostname: '127.0.0.1', port: String(link.port) });
  return { link, url: url.href };
}

/**
 * Each direction of each connection passes between `fewest` and `most` bytes, with each order of magnitude equally
 * often. The cut passes the bytes before it, and then resets the connection or closes it normally, at both ends.
 */
export async function openRaggedLink(
  target: { host: string; port: number },
  bytes: { fewest: number; most: number },
): Promise<RaggedLink> {
  let isWhole = true;
  let cuts = 0;

  function pass(own: Socket, other: Socket): void {
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
  }

  const link = await openLink(target, (near, far) => {
    pass(near, far);
    pass(far, near);
  });
  return {
    ...link,
    cuts: () => cuts,
    fray() {
      isWhole = false;
    },
    mend() {
      isWhole = true;
    },
  };
}
