/** The state of the sandbox network as plain records: phones, accounts, groups, messages, sessions. */
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
  /** Settings of this phone alone; the rest follows `World.defaults`. */
  own: Partial<PhoneSettings>;
  /** The messages that it shows, in the order of arrival. */
  messages: Message[];
  /** The messages that it sent, by network id: the duplicate key is (sender, id). */
  readonly sent: Map<string, Message>;
  /** Messages that could not be delivered yet because it is offline. */
  waiting: Message[];
  readonly unread: Set<Message>;
  /** Phones that were seen typing to it, and when they last were (Unix ms). */
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
  /** The anonymous id that groups and statuses show in place of its number; null where it shows its number. */
  lid: AnonymousId | null;
  /** The profile and products that it shows as a business. */
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

/** `later`: told when a tester asks for it. */
export interface AnonymousId {
  readonly jid: Jid;
  tell: 'at_once' | 'later' | 'never';
}

/** The contacts who see its statuses: all, all but the list, or only the list. */
export interface StatusPrivacy {
  type: 'contacts' | 'blacklist' | 'whitelist';
  /** Phones. */
  list: readonly string[];
}

export interface Group {
  readonly jid: Jid;
  name: string;
  description: string;
  /** The phone that made it; null for one that a tester made. No admin may demote or remove the owner. */
  readonly owner: Phone | null;
  /** Unix ms. */
  readonly createdAt: number;
  /** Only admins send. */
  announce: boolean;
  /** Only admins change name and description. */
  locked: boolean;
  /** The code of the invite link. */
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
  /** Phones whose anonymous ids it was told; forgotten when the network stops, and then told again. */
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
  /** The furthest status that it has reached with any recipient. */
  status: MessageStatus;
  /** How far it got with each recipient; null where there is just one. */
  readonly reached: Map<Phone, MessageStatus> | null;
  /** How often it was forwarded; 0 without the forwarded mark. */
  readonly forwarded: number;
  /** Answers nobody: keeps two phones that auto-reply from talking for ever. */
  readonly automatic: boolean;
  marks: MessageMarks;
}

/** Changes to a message after it was sent; shared and empty until a family replaces it. */
export interface MessageMarks {
  readonly edited: boolean;
  readonly deleted: boolean;
  readonly pinned: boolean;
  /** Phones that starred it. */
  readonly starredBy: readonly string[];
  readonly reactions: readonly { from: Jid; emoji: string }[];
  /** The latest vote of each voter, for a poll. */
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
  /** The length of the events that went out and are not acknowledged. */
  sentChars: number;
  /** Cut the connection once this tick's acks are out. */
  cutAfterFlush: boolean;
  /** The phones, and JIDs of groups, whose presence it subscribed to. */
  readonly watched: Set<Phone | Jid>;
  /** A pong or a frame came since the last ping. */
  heard: boolean;
}

/** The ways to pair that one unpaired session offers. */
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
