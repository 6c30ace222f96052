import type { LinkedDevice } from './linked-device.ts';
import type { MediaServer } from './media-server.ts';
import { type Coding, parseJid, type Stanza } from './nodes.ts';
import type { ServerIdentity } from './noise.ts';
import type { Phone } from './phone.ts';

/** The whole state of the simulated network. */
export interface World {
  coding: Coding;
  identity: ServerIdentity;
  media: MediaServer;
  phones: Map<string, Phone>;
  /** By the user part of their anonymous id. */
  lids: Map<string, Phone>;
  groups: Map<string, Group>;
  /** The messages of devices, each id of a sender once. */
  ledger: LedgerEntry[];
  /** Frames that the network could not parse. A test that ends with entries here has found a fault. */
  problems: string[];
  /** Questions that the network does not know, as `xmlns tag`. They were answered with an error. */
  unknownQuestions: string[];
  /** Tokens that devices gave to contacts: the number of the account, and the contact as it was named. */
  tokensGiven: { by: string; to: string }[];
  /** Devices that wait to be paired, by each of their references. */
  waiting: Map<string, Candidate>;
  faults: Faults;
  /** The patches published by `w:sync:app:state`, by the phone's number and the collection's name. */
  appState: Map<string, Collection>;
}

export interface Collection {
  /** Sealed, in the order of their versions, which begin with 1. */
  patches: Buffer[];
  hash: Buffer;
  /** By the MAC of the value's index, in hex. */
  valueMacs: Map<string, Buffer>;
}

export interface LedgerEntry {
  /** The number and the device that sent it. */
  number: string;
  device: number;
  id: string;
  to: string;
  type: string;
  at: Date;
  /** How often the network took this id from this number. */
  timesSeen: number;
  stanzas: Stanza[];
}

export type MessageFault = 'drop_before_ledger' | 'drop_after_ledger' | 'hold_ack' | { error: number };
export type PairingFault = 'account_signature' | 'foreign_account_key' | 'hmac';

export interface Faults {
  /** Fails logins for this reason, this many times; null lets them in. */
  failLogin: { reason: number; times: number } | null;
  /** Clients of an older version than this are refused with 405. */
  oldestVersion: readonly [number, number, number] | null;
  /** The content of its page for browsers (`/sw.js`); null: it has none. */
  page: string | null;
  /** Decides about a message of a device; called once for each. */
  onMessage: ((device: LinkedDevice, stanza: Stanza) => MessageFault | null) | null;
  /** The part in which the next pairings are made wrong. */
  pairing: PairingFault | null;
  /** Whether the network names the anonymous id of a number; called each time that a device asks. */
  namesLid: ((number: string) => boolean) | null;
  /** How many more questions about groups are answered; null: without limit. */
  groupQuestions: number | null;
  /** Whether accounts may not write to new people, as the network answers when asked; null: it does not answer. */
  timeLock: { isActive: boolean; timesAsked: number } | null;
  /** Names no media servers to devices, this many times. */
  hidesMediaServers: number;
  /** Leaves this collection out of its notification about changes. */
  leavesOut: string | null;
  /** Does not answer devices that refuse a call. */
  ignoresRejections: boolean;
  /** Gives away prekeys of a number with a wrong signature, or none of them; null: whoever asks gets them. */
  preKeys: ((number: string) => 'spoilt' | 'none' | null) | null;
  /** Tells none of a number's devices, or an error in their place; null: whoever asks is told them. */
  devices: ((number: string) => 'none' | 'error' | null) | null;
  /** Called once, before the next change of the account's state by a device is looked at. */
  beforePatch: (() => void) | null;
}

/** A device that asks to be paired. */
export interface Candidate {
  refs: string[];
  identity: Buffer;
  noiseKey: Buffer;
  registrationId: number;
  signedPreKey: { id: number; key: Buffer; signature: Buffer };
  connection: { send(stanza: Stanza): void; end(stanza?: Stanza): void };
  /** The data that a pairing by code has exchanged so far. */
  code: { number: string; wrapped: Buffer; ref: string } | null;
  finish: ((bundle: Buffer, identity: Buffer) => void) | null;
  /** The phone's promise to the device, until the device confirms. */
  promised: { phone: Phone; deviceId: number; keyIndex: number; details: Buffer } | null;
}

export interface Group {
  jid: string;
  subject: string;
  description: string;
  descriptionId: string;
  owner: Phone;
  /** By number. */
  members: Map<string, { phone: Phone; admin: boolean }>;
  addressing: 'pn' | 'lid';
  announce: boolean;
  locked: boolean;
  /** Seconds after which its messages disappear; 0: they stay. */
  timer: number;
  code: string;
  createdAt: Date;
}

/** The phone of a JID, by its number or its anonymous id; undefined when there is none. */
export function phoneOf(world: World, jid: string): Phone | undefined {
  const { user, server } = parseJid(jid);
  return server === 'lid' ? world.lids.get(user) : world.phones.get(user);
}

export function seconds(at: Date = new Date()): string {
  return String(Math.floor(at.getTime() / 1_000));
}

/** The name under which a phone keeps its session with a device. */
export function addressOf(number: string, device: number): string {
  return `${number}.${device}`;
}

/** The JID of a device in the form that a chat uses. */
export function jidIn(server: string, phone: Phone, device: number): string {
  const user = server === 'lid' ? phone.lidUser : phone.number;
  const domain = server === 'lid' ? 'lid' : 's.whatsapp.net';
  return device === 0 ? `${user}@${domain}` : `${user}:${device}@${domain}`;
}
