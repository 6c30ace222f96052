import { randomBytes, randomInt } from 'node:crypto';
import { generateKeys, type Keys, sign, withType } from './keys.ts';
import type { LinkedDevice } from './linked-device.ts';
import type { Stanza, WireMessage } from './nodes.ts';
import {
  type Bundle,
  FirstMessage,
  OpenedBefore,
  type PreKey,
  type Sealed,
  SignalSession,
} from './ratchet.ts';
import { KnownSenderKeys, SenderKey } from './sender-keys.ts';

/** A message as a phone has opened it. */
export interface PhoneMessage {
  id: string;
  /** The chat at this phone: a number's JID, a group or `status@broadcast`. */
  chat: string;
  /** The number that sent it. */
  from: string;
  /** Whether one of the phone's own linked devices sent it. */
  fromMe: boolean;
  /** The type in the stanza: `text`, `media`, `reaction`, `poll`. */
  type: string;
  /** The fields of the message, as they were sent. */
  wire: WireMessage;
  /** Its bytes, without the padding. */
  bytes: Buffer;
  /** The kinds of its sealed parts, in the order of the stanza. */
  sealed: readonly string[];
  /** How often it was opened under this id: a phone that ignored ids would show it so often. */
  timesSeen: number;
  /** When it was first opened, in milliseconds by the machine's monotonic clock. */
  openedAtMs: number;
  stanza: Stanza;
}

export interface PhoneReceipt {
  from: string;
  ids: string[];
  type: string;
  chat: string;
  /** How it names the author of the messages. */
  author: string;
}

/** The content of a business: an element of its profile, its catalog and collections each a stanza's content. */
export interface Storefront {
  address: string;
  description: string;
  email: string;
  category: string;
  hours: { timezone: string; days: { day: string; mode: string; open?: number; close?: number }[] };
  products: {
    id: string;
    name: string;
    description: string;
    retailerId: string;
    url: string;
    /** In thousandths of the currency. */
    price: number;
    currency: string;
    isHidden: boolean;
    status: string;
    imageUrl: string;
  }[];
  collections: { id: string; name: string; status: string; products: string[] }[];
}

const SESSIONS_KEPT = 40;

/** A simulated phone: the account's first device, with real keys and sessions. */
export class Phone {
  readonly number: string;
  readonly lidUser: string;
  readonly identity: Keys = generateKeys();
  readonly registrationId = randomInt(1, 16_380);
  readonly devices = new Map<number, LinkedDevice>();
  readonly messages: PhoneMessage[] = [];
  readonly receipts: PhoneReceipt[] = [];
  /** Messages with a counter that had been used: they were skipped without a look at their id. */
  readonly repeats: { id: string; from: string }[] = [];
  /** Messages that could not be opened, with the reason. */
  readonly failures: { id: string; from: string; reason: string }[] = [];
  /** Its sent messages, to be sent again when a device could not open one. */
  readonly sent = new Map<string, { chat: string; message: WireMessage }>();
  readonly typing: { from: string; state: string }[] = [];
  /** Changes that its devices have made to its chats. */
  readonly mutations: { collection: string; operation: string; index: string[]; value: WireMessage }[] = [];
  /** The key of the state that the account's devices share. */
  readonly appStateKey = { id: Buffer.concat([Buffer.from([0, 0]), randomBytes(4)]), data: randomBytes(32) };
  /** The history that a device gets of the time before it was paired, as fields. */
  history: WireMessage = {};
  /** Files that it has sent, by the id of the message, to be stored again when the network has forgotten them. */
  readonly files = new Map<string, { kind: string; blob: Buffer; mediaKey: Buffer }>();
  readonly #signedPreKey: PreKey = { id: 1, keys: generateKeys() };
  #signature: Buffer | null = null;
  readonly #preKeys = new Map<number, Keys>();
  #nextPreKeyId = 1;
  #nextDeviceId = 1;
  readonly #sessions = new Map<string, SignalSession[]>();
  readonly #senderKeys = new Map<string, { key: SenderKey; told: Set<string> }>();
  readonly #known = new Map<string, KnownSenderKeys>();
  /** A phone that is slow gives a new device its history only when it is told to. */
  isSlow = false;
  /** Histories of more than a few chats come as a file. */
  givesHistoryAs: 'part of the message' | 'file' = 'part of the message';
  /** Large changes of its chats come as files. */
  publishesAs: 'part of the patch' | 'file' = 'part of the patch';
  /** Calls that it made, by their id. */
  readonly calls = new Map<string, 'ringing' | 'rejected' | 'over'>();
  name: string;
  about = '';
  picture: Buffer | null = null;
  isBusiness = false;
  storefront: Storefront | null = null;
  isBanned = false;
  /** A phone that is offline neither opens messages nor confirms them; they wait. */
  isOnline = true;
  readonly waiting: (() => void)[] = [];
  readonly blocked = new Set<string>();
  /** The people who may see its statuses; null when it never chose; `busy` while the network does not tell it. */
  statusPrivacy: { type: string; list: string[] } | 'busy' | null = null;
  /** How often devices have asked for that. */
  statusPrivacyAsked = 0;
  /** How often devices have asked for messages that the network withheld from them. */
  placeholdersAsked = 0;
  readonly privacy = new Map([
    ['readreceipts', 'all'],
    ['last', 'all'],
    ['online', 'all'],
    ['profile', 'all'],
    ['status', 'all'],
    ['groupadd', 'all'],
    ['calladd', 'all'],
  ]);

  constructor(number: string, name = `Phone ${number}`) {
    this.number = number;
    // Random, so that nobody can derive the number from it.
    this.lidUser = `${randomInt(10 ** 9, 10 ** 10)}${randomInt(10 ** 4, 10 ** 5)}`;
    this.name = name;
  }

  get jid(): string {
    return `${this.number}@s.whatsapp.net`;
  }

  get lid(): string {
    return `${this.lidUser}@lid`;
  }

  takeDeviceId(): number {
    this.#nextDeviceId += 1;
    return this.#nextDeviceId - 1;
  }

  /** The keys that begin a session with the phone. */
  takeBundle(): Bundle {
    const id = this.#nextPreKeyId;
    this.#nextPreKeyId += 1;
    const keys = generateKeys();
    this.#preKeys.set(id, keys);
    const signed = this.#signedPreKey.keys.public;
    // Once: it costs some milliseconds.
    this.#signature ??= sign(this.identity.private, withType(signed));
    return {
      registrationId: this.registrationId,
      identity: this.identity.public,
      signedPreKey: { id: this.#signedPreKey.id, key: signed, signature: this.#signature },
      preKey: { id, key: keys.public },
    };
  }

  /** Seals for one device (`number.device`); calls `bundle` only when there is no session yet. */
  seal(address: string, plain: Uint8Array, bundle: () => Bundle): Sealed {
    const sessions = this.#sessionsWith(address);
    if (sessions.length === 0) sessions.unshift(SignalSession.begin(this, bundle()));
    return sessions[0]!.seal(plain);
  }

  /** Forgets the sessions with a device, or begins one with its published bundle. */
  restart(address: string, bundle?: Bundle): void {
    this.#sessions.delete(address);
    if (bundle) this.#sessionsWith(address).unshift(SignalSession.begin(this, bundle));
    for (const { told } of this.#senderKeys.values()) told.delete(address);
  }

  /** Opens a message that a device has sealed. Throws when no session can. */
  open(address: string, type: string, bytes: Buffer): Buffer {
    const sessions = this.#sessionsWith(address);
    if (type === 'msg') return this.#openWithAny(sessions, bytes);
    const first = new FirstMessage(bytes);
    const known = sessions.find((session) => session.baseKey.equals(first.baseKey));
    if (known) return known.open(first.message);
    const preKey = first.preKeyId === null ? null : this.#preKeys.get(first.preKeyId);
    if (preKey === undefined) throw new Error(`Prekey ${first.preKeyId} was used before or never given`);
    const session = SignalSession.answer(this, this.#signedPreKey.keys, preKey, first);
    const plain = session.open(first.message);
    if (first.preKeyId !== null) this.#preKeys.delete(first.preKeyId);
    sessions.unshift(session);
    sessions.splice(SESSIONS_KEPT);
    return plain;
  }

  learnSenderKey(chat: string, address: string, distribution: Buffer): void {
    const key = `${chat} ${address}`;
    const known = this.#known.get(key) ?? new KnownSenderKeys();
    this.#known.set(key, known);
    known.learn(distribution);
  }

  /** Forgets the sender keys of others. */
  forgetSenderKeys(): void {
    this.#known.clear();
  }

  openOfChat(chat: string, address: string, bytes: Buffer): Buffer {
    const known = this.#known.get(`${chat} ${address}`);
    if (!known) throw new Error('No sender key for this message');
    return known.open(bytes);
  }

  /** Seals for a group or the statuses; `untold` are the devices that do not have the key yet. */
  sealForChat(chat: string, addresses: readonly string[], plain: Uint8Array) {
    const own = this.#senderKeys.get(chat) ?? { key: new SenderKey(), told: new Set<string>() };
    this.#senderKeys.set(chat, own);
    const distribution = own.key.distribution();
    const untold = addresses.filter((address) => !own.told.has(address));
    for (const address of untold) own.told.add(address);
    return { sealed: own.key.seal(plain), distribution, untold };
  }

  #openWithAny(sessions: SignalSession[], bytes: Buffer): Buffer {
    for (const [at, session] of sessions.entries()) {
      try {
        const plain = session.open(bytes);
        // The answer uses the session that the other end uses.
        sessions.unshift(...sessions.splice(at, 1));
        return plain;
      } catch (err) {
        if (err instanceof OpenedBefore || at === sessions.length - 1) throw err;
      }
    }
    throw new Error('No session with this device');
  }

  #sessionsWith(address: string): SignalSession[] {
    const sessions = this.#sessions.get(address) ?? [];
    this.#sessions.set(address, sessions);
    return sessions;
  }
}
