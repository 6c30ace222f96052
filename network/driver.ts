/**
 * The port to a messaging network. One driver a network; one session an instance. The worker that
 * owns an instance is the only one to hold its session.
 */
import type { Readable } from 'node:stream';
import type { Jid } from '@posthorn/contract/jid.ts';
import { OPERATIONS, type Operation } from '@posthorn/contract/message-types.ts';

/**
 * What a network may be asked for, by the words of the API: every send operation, every question of
 * {@link NetworkActions}, and pairing by a code.
 */
export const ABILITIES = [
  ...OPERATIONS,
  'pin',
  'poll_vote',
  'star',
  'status_privacy',
  'pairing_code',
] as const satisfies readonly (Operation | keyof NetworkActions | 'pairing_code')[];
export type Ability = (typeof ABILITIES)[number];

export interface NetworkDriver {
  readonly name: string;
  /** What it can do. What is not among it is refused with 501 before anything is queued or asked. */
  readonly can: ReadonlySet<Ability>;
  /** True when the same network id sent twice is one message: then an unknown outcome is simply repeated. */
  readonly dedupes: boolean;
  /**
   * How many sends of a session may be without an answer at the same time. More than one only where it keeps
   * their order: it takes messages in the order of `send`, and none of them after one that it did not take
   * and did not refuse. What was without an answer when a session ended is sent again in order, under the
   * same ids, so a driver that does not dedupe takes one.
   */
  readonly window: number;
  /**
   * Opens the session of one instance. Resolves when the connection is being attempted; what becomes
   * of it arrives at `sink`. Without `credentials` the instance is not paired yet and pairing begins.
   */
  open(request: OpenRequest, sink: SessionSink): Promise<NetworkSession>;
}

export interface OpenRequest {
  instanceId: string;
  /** The shard lease under which the session is held; a network may refuse an older one. */
  epoch: number;
  /** What an earlier `paired` gave; opaque to us, kept encrypted. */
  credentials: unknown | null;
}

export interface NetworkSession {
  /**
   * Hands one message to the network. Resolves when the network has taken it (or had it already: the
   * same `networkId` twice is one message). Throws {@link SendRefused} when the network says no for
   * good, {@link SendDeferred} when it cannot take it now but may later, {@link SendUnavailable} when it
   * could not be asked or did not answer: safe to repeat when `NetworkDriver.dedupes`.
   */
  send(message: OutboundMessage): Promise<SendReceipt>;
  /** Shows the typing indicator in a one-to-one chat; best effort. */
  typing(chat: Jid): Promise<void>;
  /**
   * Marks received messages of a chat as read, which tells their sender. Ids that the network does not
   * know are passed over. Throws as `send` does.
   */
  markRead(chat: Jid, networkIds: readonly string[]): Promise<void>;
  /**
   * Asks the network for something that it answers at once; a new question is a line of
   * {@link NetworkActions}. Throws as `send` does; a network that has no such thing refuses with
   * `unsupported_call`.
   */
  act<Op extends keyof NetworkActions>(
    op: Op,
    args: NetworkActions[Op]['args'],
  ): Promise<NetworkActions[Op]['answer']>;
  /** The bytes of media that was received. Throws SendRefused `media_expired`, or SendUnavailable. */
  download(media: InboundMedia): Promise<Readable>;
  /** Asks for an eight-character pairing code for `phone`, instead of the QR. Throws as `send` does. */
  requestPairingCode(phone: string): Promise<string>;
  /** Ends the pairing: the credentials are void afterwards, and the sink hears `logged_out`. */
  logout(): Promise<void>;
  /** Closes the connection and keeps the pairing. Idempotent. */
  close(): Promise<void>;
}

export interface OutboundMessage {
  /** Made by `networkIdOf`; the network's duplicate key. */
  networkId: string;
  to: Jid;
  /** A content type, or `edit` and `delete`, whose content is what changes and nothing. */
  type: string;
  /** The content as accepted: for text `{text, mentions?}` (core/messages/content). */
  content: Record<string, unknown>;
  /** Network id of the quoted message. */
  quotedId?: string;
  media?: OutboundMedia;
  /** The message that a reaction, edit or delete is about. */
  target?: MessageTarget;
  /** The message that is forwarded; type and content are those we know of it. */
  source?: MessageTarget & { chat: Jid };
  /** The status that a direct message answers. */
  status?: { id: string; author: Jid };
}

/** Names a message within its chat, as networks do: its id, and who wrote it where that is known. */
export interface MessageTarget {
  id: string;
  from_me?: boolean;
  sender?: Jid;
}

/** Media in the form in which the network takes it. */
export interface OutboundMedia {
  /** A fresh stream of the bytes each time. */
  open(): Promise<Readable>;
  mimeType: string;
  fileName: string;
  sizeBytes: number;
  widthPx?: number;
  heightPx?: number;
  durationS?: number;
  waveform?: string;
  thumbnail?: string;
  animated?: boolean;
}

/** Questions that are answered at once. Keys are wire names: they travel from the API as they are. */
export interface NetworkActions {
  /** Refused: `message_not_found`, `not_admin`. */
  pin: {
    args: { chat: Jid; target: MessageTarget; pin: boolean; duration_s: number };
    answer: { envelope_id: string };
  };
  /** Refused: `message_not_found`, `poll_secret_missing`, `invalid_option`, `too_many_options`. */
  poll_vote: {
    args: { chat: Jid; target: MessageTarget; options: readonly string[] };
    answer: { envelope_id: string };
  };
  /** Changes the account's own state; the sink hears `starred` when it has synced. `message_not_found`. */
  star: { args: { chat: Jid; target: MessageTarget; starred: boolean }; answer: Record<string, never> };
  /** Every setting that there is; the one in force is the default one. `list` holds phones. */
  status_privacy: {
    args: Record<string, never>;
    answer: { type: 'contacts' | 'blacklist' | 'whitelist'; list: string[]; is_default: boolean }[];
  };
}

export interface SendReceipt {
  /** When the network took it. */
  at: Date;
}

/**
 * What a session tells its worker. A promise that resolves means "recorded": the driver then acks; one
 * that rejects is called again with the same. Receipts come in order and inbound messages come in
 * order, one call of each kind at a time; between the two kinds there is no order. Either may come
 * twice, and a receipt may overtake the answer to its `send`.
 */
export interface SessionSink {
  qr(qr: string, expiresAt: Date): void;
  paired(identity: PairedIdentity): Promise<void>;
  connected(): void;
  /**
   * The session ended; called exactly once, and nothing is called after it but what was under way. The
   * driver does not connect again: on `connection_lost` the owner opens anew, with back-off.
   */
  disconnected(reason: DisconnectReason): void;
  receipts(receipts: readonly NetworkReceipt[]): Promise<void>;
  /** Statuses too: their `chat` is `status@broadcast`. */
  inbound(messages: readonly InboundMessage[]): Promise<void>;
  /** What happened to messages that are there. In order with `inbound`: never called at the same time. */
  changes(changes: readonly NetworkChange[]): Promise<void>;
}

/** Whom an instance was paired with. */
export interface PairedIdentity {
  /** What opens the session the next time; as the driver likes it. */
  credentials: unknown;
  phone: string;
  jid: Jid;
  pushName: string;
}

/**
 * `replaced`: a second login kicked this one, or its epoch was older than one seen before.
 * `logged_out`: unpaired from the phone, the credentials are void. `closed`: by `close`.
 */
export type DisconnectReason =
  | 'connection_lost'
  | 'replaced'
  | 'logged_out'
  | 'banned'
  | 'hard_paused'
  | 'closed';

export interface NetworkReceipt {
  networkId: string;
  kind: 'delivered' | 'read' | 'played';
  /** The chat the message was sent to; `status@broadcast` for a status. */
  chat: Jid;
  /** Who received or read it. */
  by: Jid;
  at: Date;
}

export interface InboundMessage {
  networkId: string;
  chat: Jid;
  from: Jid;
  pushName: string;
  type: string;
  /** By type; ids of other messages in it (`message_id`, `poll_message_id`) are the network's. */
  content: Record<string, unknown>;
  quotedId?: string;
  media?: InboundMedia;
  /** How often it was forwarded; absent when it carries no forwarded mark. */
  forwardingScore?: number;
  /** Network id of our status that this direct message answers or reacts to. */
  statusId?: string;
  /** The network handed over something that is not understood; type and content say nothing. */
  unreadable?: boolean;
  at: Date;
}

/** Received media, still at the network. */
export interface InboundMedia {
  /** The driver's own handle. */
  ref: unknown;
  mimeType: string;
  fileName: string;
  sizeBytes: number;
  animated?: boolean;
}

/** A change of a message or status; `from` is who made it. */
export type NetworkChange = { networkId: string; chat: Jid; from: Jid; at: Date } & (
  | { kind: 'edited'; content: Record<string, unknown> }
  | { kind: 'deleted' }
  | { kind: 'starred'; starred: boolean }
);

/** The network refused this message for good; `reason` is stable snake_case and reaches the event. */
export class SendRefused extends Error {
  readonly reason: string;
  constructor(reason: string, message = `the network refused the message: ${reason}`) {
    super(message);
    this.name = 'SendRefused';
    this.reason = reason;
  }
}

/** The network cannot take this message now and may later; `reason` is what it fails with in the end. */
export class SendDeferred extends Error {
  readonly reason: string;
  constructor(reason: string) {
    super(`the network cannot take the message now: ${reason}`);
    this.name = 'SendDeferred';
    this.reason = reason;
  }
}

/** The network could not be reached or did not answer in time: the outcome is unknown. */
export class SendUnavailable extends Error {
  constructor(message = 'the network did not answer', options?: ErrorOptions) {
    super(message, options);
    this.name = 'SendUnavailable';
  }
}
