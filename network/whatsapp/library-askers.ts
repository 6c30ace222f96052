/** Devices that could not open a message and ask for it again: each gets its answer, and nobody else does. */
import { AsyncLocalStorage } from 'node:async_hooks';
import { isLidJid } from '@posthorn/contract/jid.ts';
import { withoutDevice } from './wire/jids.ts';

type Attributes = Record<string, string | undefined>;

/** A device that asks for a message again. */
export interface Asker {
  jid: string;
  count: number;
  /** The attributes of its question. */
  attrs: Attributes;
}

export interface Askers {
  /** A device has asked for these messages. */
  note(ids: readonly string[], asker: Asker): void;
  /** The library sends `message` next, for the device `jid` that asked for it under this id. */
  answerWith(id: string, jid: string, message: object): void;
}

const ASKED_MAX = 1_000;

const answering = new AsyncLocalStorage<{ id: string; asker: Asker }>();

type Relay = (jid: string, message: object, options: RelayOptions) => Promise<string>;
interface RelayOptions {
  messageId: string;
  participant?: Pick<Asker, 'jid' | 'count'>;
}

/**
 * Makes the library answer only the device that asked for a message again. When that is somebody's phone, the
 * library encrypts the message anew for all devices of both sides, and those that have it could show it twice.
 */
export function answerAskers<T extends { relayMessage: Relay }>(socket: T): T & { askers: Askers } {
  const { relayMessage } = socket;
  /** By message and device: the library leaves some questions unanswered. */
  const asked = new Map<string, Asker>();
  const askers = new WeakMap<object, Asker>();
  const nameOf = (id: string, jid: string) => `${id} ${jid}`;
  return Object.assign(socket, {
    askers: {
      note(ids: readonly string[], asker: Asker) {
        for (const id of ids) asked.set(nameOf(id, asker.jid), asker);
        while (asked.size > ASKED_MAX) asked.delete(asked.keys().next().value!);
      },
      answerWith(id: string, jid: string, message: object) {
        const asker = asked.get(nameOf(id, jid));
        asked.delete(nameOf(id, jid));
        if (asker) askers.set(message, asker);
      },
    },
    relayMessage: ((jid, message, options) => {
      const asker = askers.get(message);
      if (!asker) return relayMessage(jid, message, options);
      return answering.run({ id: options.messageId, asker }, () =>
        relayMessage(jid, message, { ...options, participant: asker }),
      );
    }) satisfies Relay,
  });
}

interface Stanza {
  tag: string;
  attrs: Attributes;
  content?: unknown;
}
interface Keys {
  get(kind: string, ids: string[]): Promise<Record<string, unknown>>;
}

/**
 * The stanza of an answer with the addresses of the question, any other as it is. The library would send a status to the
 * chat with the person who could not read it, and leave out the chat when a device of the account asks by its anonymous
 * id; it also encrypts the message twice. In a chat it has the token of the person, as all messages there.
 */
export async function asAnswer<N extends Stanza>(node: N, keys: Keys): Promise<N> {
  const answered = answering.getStore();
  if (!answered || answered.id !== node.attrs.id || !Array.isArray(node.content)) return node;
  const { from: to = '', participant, recipient } = answered.asker.attrs;
  const token = participant || recipient ? undefined : await tokenOf(to, keys);
  const content = [
    ...(node.content as Stanza[]).filter(({ tag }) => tag !== 'participants'),
    ...(token?.length ? [{ tag: 'tctoken', attrs: {}, content: token }] : []),
  ];
  return { ...node, attrs: { ...node.attrs, to, participant, recipient }, content };
}

/** Tokens are kept by anonymous ids. */
async function tokenOf(jid: string, keys: Keys): Promise<Uint8Array | undefined> {
  const plain = withoutDevice(jid);
  const user = plain.slice(0, plain.indexOf('@'));
  const lidUser = isLidJid(plain) ? user : (await keys.get('lid-mapping', [user]))[user];
  const lid = `${lidUser}@lid`;
  return ((await keys.get('tctoken', [lid]))[lid] as { token?: Uint8Array } | undefined)?.token;
}
