/** Wraps functions of the library (`library.ts`) to change how it sends, waits and reads. */
import { AsyncLocalStorage } from 'node:async_hooks';
import { type Askers, answerAskers, asAnswer } from './library-askers.ts';
import { confirmationsOf, type OpenStatuses } from './library-stanzas.ts';
import type { LibraryConfig, SignalRepository, WireNode } from './library-types.ts';
import { childOf, childrenOf } from './wire/nodes.ts';

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

interface SendingSocket {
  sendNode(node: WireNode): Promise<void>;
}

/** The function that makes a socket, whose upper layers send with what this one returns. */
export function holdingStanzas<C extends Pick<LibraryConfig, 'auth'>, T extends SendingSocket>(
  make: (config: C) => T,
) {
  return (config: C): T => holdStanzas(make(config), config.auth);
}

function holdStanzas<T extends SendingSocket>(socket: T, { creds, keys }: LibraryConfig['auth']): T {
  const { sendNode } = socket;
  const openStatuses: OpenStatuses = new Map();
  return Object.assign(socket, {
    openStatuses,
    async sendNode(node: WireNode) {
      if (node.tag === 'ack' && !node.attrs.id) return;
      if (node.tag !== 'message') {
        for (const each of confirmationsOf(openStatuses, node, creds.me?.id)) await sendNode(each);
        return;
      }
      const wanted = taking.getStore();
      if (wanted?.node !== null || node.attrs.id !== wanted.id) return sendNode(await asAnswer(node, keys));
      wanted.node = node;
    },
  });
}

/** The function that makes a socket: it answers only who asked. */
export function answeringAskers<C, T extends Parameters<typeof answerAskers>[0]>(make: (config: C) => T) {
  return (config: C): T & { askers: Askers } => answerAskers(make(config));
}

type BeginSessions = (answer: WireNode, repository: SignalRepository) => Promise<void>;

/**
 * The function that begins sessions with the keys that the network gave of devices. The library begins none of them if
 * a single device has no keys any more, or wrong ones: a group with such a member would get no message.
 */
export function beginningEach(begin: BeginSessions): BeginSessions {
  return async (answer, repository) => {
    const list = childOf(answer, 'list');
    for (const user of childrenOf(list)) {
      const one = { ...answer, content: [{ ...list!, content: [user] }] };
      // Without a session nothing is encrypted for the device. A failed write ends the session by itself.
      await begin(one, repository).catch(() => undefined);
    }
  };
}

type Settle = (resolve: (value: unknown) => void, reject: (err: unknown) => void) => unknown;
type WithTimeout = (timeoutMs: number | undefined, work: Settle) => Promise<unknown>;

/**
 * Makes waiting with a timeout cheap while nothing times out. The library describes two stacks and makes an error for
 * each frame that it writes: 70 µs instead of 1.
 */
export function timingCheaply(plain: WithTimeout): WithTimeout {
  return (timeoutMs, work) =>
    new Promise((resolve, reject) => {
      if (!timeoutMs) {
        work(resolve, reject);
        return;
      }
      // Its own error, of a time that is over.
      const timer = setTimeout(() => void plain(1, () => undefined).catch(reject), timeoutMs);
      work(
        (value) => {
          clearTimeout(timer);
          resolve(value);
        },
        (err) => {
          clearTimeout(timer);
          reject(err);
        },
      );
    });
}

/** `SyncdOperation` of the network. */
const REMOVE = 1;
/** Only removals of these are told: apps set everything else to something else. */
const CONTACTS: ReadonlySet<string> = new Set(['contact', 'lid_contact']);

interface Mutation {
  operation?: number;
  index: string[];
}
interface Events {
  emit(event: 'contacts.upsert', contacts: { id: string; name: string }[]): boolean;
}
type ReadMutation = (mutation: Mutation, ev: Events, ...about: unknown[]) => void;

/** The function that reads a change of the account's state: it takes what was removed for what is there. */
export function tellingRemovals(read: ReadMutation): ReadMutation {
  return (mutation, ev, ...about) => {
    const { operation, index } = mutation;
    const [kind = '', id] = index;
    if (operation !== REMOVE) read(mutation, ev, ...about);
    else if (CONTACTS.has(kind) && id) ev.emit('contacts.upsert', [{ id, name: '' }]);
  };
}
