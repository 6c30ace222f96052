/** Wraps layers of the library (`library.ts`) to change how it sends. */
import { AsyncLocalStorage } from 'node:async_hooks';
import type { Asker, Askers, WireNode } from './library-types.ts';

interface Taking {
  id: string;
  node: WireNode | null;
}

const taking = new AsyncLocalStorage<Taking>();

/**
 * Runs `send`, which makes the library send the message `id`, and returns that message encrypted and unsent: the
 * library sends within the function that encrypts, but the message must be stored first.
 */
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

type Relay = (jid: string, message: unknown, options: RelayOptions) => Promise<string>;
interface RelayOptions {
  messageId: string;
  participant?: Asker;
  useUserDevicesCache?: boolean;
}

const ASKED_MAX = 1_000;

/**
 * Makes the library answer only the device that asked for a message again. When that is somebody's phone, the
 * library encrypts the message anew for all devices of both sides, and those that have it could show it twice.
 */
export function answerAskers<T extends { relayMessage: Relay }>(socket: T): T & { askers: Askers } {
  const { relayMessage } = socket;
  const asked = new Map<string, Asker[]>();
  return Object.assign(socket, {
    askers: {
      note(ids: readonly string[], asker: Asker) {
        for (const id of ids) asked.set(id, [...(asked.get(id) ?? []), asker]);
        while (asked.size > ASKED_MAX) asked.delete(asked.keys().next().value!);
      },
    },
    relayMessage: ((jid, message, options) => {
      const participant =
        options.useUserDevicesCache === false ? asked.get(options.messageId)?.shift() : null;
      return relayMessage(jid, message, participant ? { ...options, participant } : options);
    }) satisfies Relay,
  });
}
