/** What the sandbox network knows of, as plain records: phones, accounts, groups, messages, sessions. */
import type { Jid } from '@posthorn/contract/jid.ts';
import type { WebSocket } from 'ws';
import type { DeviceState } from './device-state.ts';
import type { Storefront } from './storefront.ts';

export interface PhoneSettings {
  online: boolean;
  /** Reads what arrives, `read_delay_ms` after it arrived. */
  auto_read: boolean;
  read_delay_ms: number;
  /** How long a message travels to a phone that is online; 0 is within the tick. */
  delivery_delay_ms: number;
  /** Off: reading is kept to oneself. Delivery is always told (EVT-4). */
  read_receipts: boolean;
  /** Answers each text with this text; null answers nothing. */
  auto_reply: string | null;
}

export const initialDefaults: Readonly<PhoneSettings> = {
  online: true,
  auto_read: true,
  read_delay_ms: 1000,
  delivery_delay_ms: 0,
  read_receipts: true,
  auto_reply: null,
};

/** One number on the network: a virtual phone, or one that is paired with an instance. */
export interface Phone {
  readonly phone: string;
  readonly jid: Jid;
  name: string;
  business: boolean;
  /** What was set for this phone; the rest follows `World.defaults`. */
  own: Partial<PhoneSettings>;
  /** What it shows, in the order of arrival. */
  messages: Message[];
  /** What it sent, by network id: the duplicate key is (sender, id). */
  readonly sent: Map<string, Message>;
  /** What could not be delivered yet because it is offline. */
  waiting: Message[];
  readonly unread: Set<Message>;
  /** Who was last seen typing to it, and when (Unix ms). */
  readonly typing: Map<Jid, number>;
  /** The numbers saved in its address book: statuses go only between those who have saved each other. */
  readonly contacts: Set<string>;
  /** Numbers whose direct messages never arrive. */
  readonly blocked: Set<string>;
  statusPrivacy: StatusPrivacy;
  readonly device: DeviceState;
  about: string;
  /** Handle of its picture at the CDN. */
  picture: string | null;
  /** Under which anonymous id it stands in groups and statuses; null where it shows its number. */
  lid: AnonymousId | null;
  /** What it shows as a business. */
  storefront: Storefront | null;
  /** The calls that it made, the newest last; gone with a restart, as calls are. */
  readonly calls: PhoneCall[];
  account: Account | null;
}

export interface PhoneCall {
  readonly id: string;
  readonly to: Jid;
  readonly video: boolean;
  /** Unix ms. */
  readonly at: number;
  refused: boolean;
}

/** `later` is told once a tester says so. */
export interface AnonymousId {
  readonly jid: Jid;
  tell: 'at_once' | 'later' | 'never';
}

/** Who of the contacts sees its statuses: all, all but the list, or only the list. */
export interface StatusPrivacy {
  type: 'contacts' | 'blacklist' | 'whitelist';
  /** Phones. */
  list: readonly string[];
}

export interface Group {
  readonly jid: Jid;
  name: string;
  description: string;
  /** Who made it; null for one that a tester made. No admin may demote or remove the owner. */
  readonly owner: Phone | null;
  /** Unix ms. */
  readonly createdAt: number;
  /** Only admins send. */
  announce: boolean;
  /** Only admins change name and description. */
  locked: boolean;
  /** Of the invite link. */
  code: string;
  /** The most participants. */
  readonly capacity: number;
  readonly participants: Set<Phone>;
  readonly admins: Set<Phone>;
}

/** A phone paired with an instance: messages for it go to the instance's session. */
export interface Account {
  readonly phone: Phone;
  readonly token: string;
  readonly instanceId: string;
  pushName: string;
  /** Since when it has the secrets of polls that pass (Unix ms): its pairing, or the last reset. */
  secretsSince: number;
  /** The highest epoch that logged in; a lower one is refused. */
  epoch: number;
  readonly events: EventQueue;
  /** Of whose anonymous ids it knows the phone; forgotten when the network stops, and told again. */
  readonly toldLids: Set<Phone>;
  /** Null until it said so. */
  available: boolean | null;
  /** The one session that may send. */
  session: Session | null;
  /** Connections that logged in and have not ended; two while a kicked one still closes. */
  connections: Set<Session>;
  readonly stats: { logins: number; maxLive: number; kicks: number; staleLogins: number };
}

export type MessageStatus = 'sent' | 'delivered' | 'read' | 'played';

/** One message, shared by the ledger and by every phone that shows it. */
export interface Message {
  readonly id: string;
  readonly from: Phone;
  readonly to: Jid;
  readonly type: string;
  content: Record<string, unknown>;
  readonly quotedId: string | undefined;
  /** Unix ms. */
  readonly at: number;
  /** Place in the ledger from 1; 0 for what a virtual phone sent. */
  seq: number;
  timesSeen: number;
  /** How far it got with whoever got furthest. */
  status: MessageStatus;
  /** How far it got with each recipient; null where there is just one. */
  readonly reached: Map<Phone, MessageStatus> | null;
  /** How often it was forwarded; 0 without the forwarded mark. */
  readonly forwarded: number;
  /** Answers nobody: keeps two phones that auto-reply from talking for ever. */
  readonly automatic: boolean;
  marks: MessageMarks;
}

/** What was done to a message after it was sent; shared and empty until a family replaces it. */
export interface MessageMarks {
  readonly edited: boolean;
  readonly deleted: boolean;
  readonly pinned: boolean;
  /** Phones that starred it. */
  readonly starredBy: readonly string[];
  readonly reactions: readonly { from: Jid; emoji: string }[];
  /** Of a poll: the latest vote of each. */
  readonly votes: readonly { from: Jid; options: readonly string[] }[];
}

export const unmarked: MessageMarks = Object.freeze({
  edited: false,
  deleted: false,
  pinned: false,
  starredBy: [],
  reactions: [],
  votes: [],
});

/**
 * `greeting`: nothing said yet. `pairing`: a QR is shown. `confirming`: paired, and the driver is
 * storing its credentials. `live`: may send. `ended`: whatever still arrives is ignored.
 */
type SessionPhase = 'greeting' | 'pairing' | 'confirming' | 'live' | 'ended';

export interface Session {
  readonly socket: WebSocket;
  phase: SessionPhase;
  instanceId: string;
  epoch: number;
  account: Account | null;
  offer: PairingOffer | null;
  /** The numbers of envelopes that a fault swallowed, and of those that came behind them. */
  readonly swallowed: Set<number>;
  /** Answers of this tick, each already JSON. */
  acks: string[];
  /** The newest event that went out over this connection. */
  sentSeq: number;
  /** Of the events that went out and are not acknowledged. */
  sentChars: number;
  /** Cut the connection once this tick's acks are out. */
  cutAfterFlush: boolean;
  /** Whose presence it subscribed to: phones, and JIDs of groups. */
  readonly watched: Set<Phone | Jid>;
  /** A pong or a frame came since the last ping. */
  heard: boolean;
}

/** What one unpaired session has on offer. */
export interface PairingOffer {
  requestCode(phone: string): string;
  withdraw(): void;
}

export interface PendingEvent {
  readonly seq: number;
  /** The event as it goes over the wire and into the journal: serialised once. */
  readonly json: string;
  /** Set for an inbound message: acking it delivers the message. */
  readonly message: Message | null;
  /** True for an event that a tester made up: nothing has happened. */
  readonly raw?: boolean;
}

export interface EventQueue {
  /** The number of the newest event ever queued. */
  lastSeq(): number;
  ackedSeq(): number;
  size(): number;
  push(event: PendingEvent): void;
  /** Up to `limit` events after number `seq`. */
  after(seq: number, limit: number): PendingEvent[];
  /** Drops and returns the events up to `seq`; nothing when it acked that far before. */
  ack(seq: number): PendingEvent[];
  all(): PendingEvent[];
}

/** The messages that the network holds. */
export interface Kept {
  readonly limit: number;
  /** Oldest first. */
  messages: Message[];
  /** So many messages there may be before the oldest go, a tenth of all at once. */
  roomUntil: number;
  /** Since the network began, restarts included: whatever is older may not be there. */
  forgotten: number;
}
