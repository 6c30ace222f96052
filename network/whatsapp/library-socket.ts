/**
 * Takes a message from the library right before it would send it: encrypted, and as the network gets it. The
 * library sends within the function that encrypts, but the message must be stored first.
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import type { WireNode } from './library-types.ts';

interface Taking {
  id: string;
  node: WireNode | null;
}

const taking = new AsyncLocalStorage<Taking>();

/** Runs `send`, which makes the library send the message `id`, and returns that message unsent. */
export async function takeStanza(id: string, send: () => Promise<unknown>): Promise<WireNode> {
  const taken: Taking = { id, node: null };
  await taking.run(taken, send);
  if (!taken.node) throw new Error('the library sent nothing');
  return taken.node;
}

/** Called with each socket that the library makes; its upper layers send with what this returns. */
export function holdStanzas<T extends { sendNode(node: WireNode): Promise<void> }>(socket: T): T {
  const { sendNode } = socket;
  return Object.assign(socket, {
    async sendNode(node: WireNode) {
      const wanted = taking.getStore();
      if (wanted?.node !== null || node.tag !== 'message' || node.attrs.id !== wanted.id)
        return sendNode(node);
      wanted.node = node;
    },
  });
}
