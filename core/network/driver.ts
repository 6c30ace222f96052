/**
 * The port to a messaging network. One driver a network; one session an instance. The worker that
 * owns an instance is the only one to hold its session.
 */
import type { Readable } from 'node:stream';
import type { Jid } from '@posthorn/contract/jid.ts';
import type { Ability, Reach } from './abilities.ts';
import type { NetworkActions } from './actions.ts';
import type { HistoryBatch, NetworkFact, PresenceUpdate } from './facts.ts';
import type {
  InboundMedia,
  InboundMessage,
  NetworkChange,
  NetworkReceipt,
  OutboundMessage,
} from './messages.ts';

export type * from './actions.ts';
export type * from './facts.ts';
export type * from './messages.ts';

export interface NetworkDriver {
  readonly name: string;
  /** The abilities that it opts into by `abilitiesOf`; any other is refused with 501 before anything is queued or asked. */
  readonly can: ReadonlySet<Ability>;
  /** The people that it reaches; absent: everybody who has a number. */
  readonly reach?: readonly Reach[];
  /**
   * True when the same network id sent twice is one message, because the network drops the second or because the
   * driver sends the same encrypted bytes: then a send without an answer is repeated.
   */
  readonly dedupes: boolean;
  /**
   * The number of a session's sends that may be without an answer at the same time. More than one only where the
   * network keeps their order: it takes messages in the order of `send`, and after one that it neither took nor refused
   * it takes none. Sends that had no answer when a session ended are sent again in order, under the same ids, so a
   * driver that does not dedupe takes one. With `order: 'chat'`: the number of chats that may have such a send.
   */
  readonly window: number;
  /**
   * `chat`: sends are in order within each chat and independent of those in others, so each chat has one under way.
   * Absent: the sends of an instance are in one order.
   */
  readonly order?: 'chat';
  /**
   * `told`: an answer says only that the network accepted the message, and a receipt tells later what became of it, also
   * when there was no answer. Absent: the answer is the outcome.
   */
  readonly outcome?: 'told';
  /**
   * Opens the session of one instance. Resolves when the connection is being attempted; what becomes
   * of it arrives at `sink`. Without `credentials` the instance is not paired yet and pairing begins.
   */
  open(request: OpenRequest, sink: SessionSink): Promise<NetworkSession>;
}

export interface OpenRequest {
  instanceId: string;
  /** Grows with each owner of the instance; a network may refuse an older one. */
  epoch: number;
  /** The credentials that an earlier `paired` or a user gave; opaque to us, kept encrypted. */
  credentials: unknown | null;
  /** The session's own data beyond its credentials. */
  keys: SessionKeys;
  /** The way out, `http://` or `socks5://` with its credentials; null: directly. */
  proxy: string | null;
  /** The restriction that an earlier session reported and users still see. */
  restriction?: string | null;
  /** Posts of the network to this installation for the instance; absent where nothing receives them. */
  inbox?: NetworkInbox;
  /**
   * The network's id of a message that the instance sent, by our id of it; null while it is not known. Drivers of networks
   * that make the ids need it for messages that an earlier session sent.
   */
  assignedId?(networkId: string): Promise<string | null>;
}

/** Posts of a network, oldest first, kept until the session has handed them over. */
export interface NetworkInbox {
  /**
   * The oldest posts that wait, at most `limit`, except those whose ids are given. Rejects when another worker now owns
   * the instance, as `done` does.
   */
  next(limit: number, except: readonly string[]): Promise<readonly PostedBody[]>;
  /** Removes posts that the session has handed over. */
  done(ids: readonly string[]): Promise<void>;
  /** Calls `look` when a post may have arrived; returns a function that stops this. */
  onArrival(look: () => void): () => void;
}

export interface PostedBody {
  id: string;
  /** The bytes as they came, whose signature was checked. */
  body: Uint8Array;
}

/** Something that a session remembers: under `kind` and `id`, any JSON value. */
export interface SessionKey {
  kind: string;
  id: string;
  /** Null removes it. */
  value: unknown;
  /** It may be forgotten after 30 days; keys may not. */
  temporary?: boolean;
}

/**
 * A session's own data, kept with its instance and read by nobody else. One `write` is stored whole or not at all; it
 * resolves when it is durable. Both reject when another worker now owns the instance: a driver that gets this must say
 * nothing more to the network.
 */
export interface SessionKeys {
  /** Those of `ids` that are there; without `ids` all of this kind. */
  read(kind: string, ids?: readonly string[]): Promise<Map<string, unknown>>;
  write(changes: readonly SessionKey[]): Promise<void>;
  /** Removes everything: the pairing has ended. */
  clear(): Promise<void>;
}

/**
 * How long a session that closes waits for its owner to record what came in, so that it does not come again. A worker
 * that is cut off from the database notices after some 3 s and records nothing more; after 8 s another worker opens the
 * session.
 */
export const DRAIN_MS = 2_500;

/**
 * Once a session has ended, by `close` or by itself, each call is answered within a second, and a later one at once.
 * The worker rejects a call that the driver still leaves open, so that no call keeps an instance waiting.
 */
export interface NetworkSession {
  /**
   * Hands one message to the network. Resolves when the network has taken it (or had it already: the
   * same `networkId` twice is one message). Throws {@link SendRefused} when the network says no for
   * good, {@link SendDeferred} when it cannot take it now but may later, {@link SendNotAsked} when something
   * of ours failed first, {@link SendUnavailable} when it could not be asked or did not answer: safe to
   * repeat when `NetworkDriver.dedupes`. Throws {@link SendUnanswered} when it was repeated for long enough.
   */
  send(message: OutboundMessage): Promise<SendReceipt>;
  /** The outcomes of these messages are recorded: they will not be sent again, whatever their outcome was. */
  recorded(networkIds: readonly string[]): void;
  /** Shows the typing indicator in a one-to-one chat; best effort. */
  typing(chat: Jid): Promise<void>;
  /**
   * Marks received messages of a chat as read, oldest first, which tells their sender. Ids that the network does not
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
  /** The bytes of media that was received. Throws SendRefused `media_expired`, SendUnavailable, or NotConnected. */
  download(media: InboundMedia): Promise<Readable>;
  /** Asks for an eight-character pairing code for `phone`, instead of the QR. Throws as `send` does. */
  requestPairingCode(phone: string): Promise<string>;
  /** Ends the pairing: the credentials are void afterwards, and the sink hears `logged_out`. */
  logout(): Promise<void>;
  /** Closes the connection and keeps the pairing, within {@link DRAIN_MS} and a moment. Idempotent. */
  close(): Promise<void>;
}

export interface SendReceipt {
  /** When the network took it. */
  at: Date;
  /** How the network calls it where that makes the ids; quotes and reactions then name it by this. */
  assignedId?: string;
}

/**
 * The reports of a session to its worker. A promise that resolves means "recorded": the driver then acks; after one
 * that rejects the driver makes the same call again. Receipts come in order and inbound messages come in order, one
 * call of each kind at a time; between the two kinds there is no order. Either may come twice, and a receipt may
 * overtake the answer to its `send`.
 */
export interface SessionSink {
  qr(qr: string, expiresAt: Date): void;
  paired(identity: PairedIdentity): Promise<void>;
  connected(): void;
  /**
   * The session ended; `error` gives the reason in words for users. Called exactly once; afterwards only calls that
   * were under way may still come. The driver does not connect again: on `connection_lost` and `failed` the owner opens
   * anew, with back-off.
   */
  disconnected(reason: DisconnectReason, error?: string): void;
  /** The network has limited the account, named by a stable snake_case word; null when it has lifted the limit. */
  restricted(restriction: string | null): void;
  receipts(receipts: readonly NetworkReceipt[]): Promise<void>;
  /**
   * Messages that came in, statuses with `status@broadcast` as their `chat` among them, and messages that the account
   * sent on its other devices (`fromMe`). Calls for one chat come one after the other; calls for several chats may be
   * open at a time.
   */
  inbound(messages: readonly InboundMessage[]): Promise<void>;
  /** Changes of existing messages. In order with `inbound`: never called at the same time. */
  changes(changes: readonly NetworkChange[]): Promise<void>;
  /**
   * Facts about chats, contacts, labels and groups, from the account's other devices and the network. In order with
   * `inbound`.
   */
  facts(facts: readonly NetworkFact[]): Promise<void>;
  /** Chats, contacts and messages from before the pairing, part after part, in order with `inbound`. */
  history(batch: HistoryBatch): Promise<void>;
  /** People who are online or typing. A lost update is not repeated, and nothing waits for it. */
  presence(updates: readonly PresenceUpdate[]): void;
}

/** The account that an instance was paired with. */
export interface PairedIdentity {
  /** The credentials that open the next session, in any form that the driver likes. */
  credentials: unknown;
  phone: string;
  jid: Jid;
  pushName: string;
}

/**
 * `replaced`: a second login kicked this one, or its epoch was older than one seen before. `credentials_refused`: the
 * network takes the given credentials no longer; they are kept, and a person has to act.
 * `logged_out`: unpaired from the phone, the credentials are void. `version_refused`: the network wants a newer
 * driver, and the driver knows no newer version to say. `failed`: data from the network could not be handled, and
 * may come again in the next session. `closed`: by `close`.
 */
export type DisconnectReason =
  | 'connection_lost'
  | 'failed'
  | 'replaced'
  | 'logged_out'
  | 'banned'
  | 'hard_paused'
  | 'version_refused'
  | 'credentials_refused'
  | 'closed';

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
  readonly backOff: BackOff | undefined;
  constructor(reason: string, backOff?: BackOff) {
    super(`the network cannot take the message now: ${reason}`);
    this.name = 'SendDeferred';
    this.reason = reason;
    this.backOff = backOff;
  }
}

/** Something of ours failed before the network was asked, as reading the media: the `cause` says whether to try again. */
export class SendNotAsked extends Error {
  constructor(cause: unknown) {
    super('the network was not asked', { cause });
    this.name = 'SendNotAsked';
  }
}

/** How long the network wants nothing, and of what: of the chat of the message, or of the account. */
export interface BackOff {
  of: 'chat' | 'account';
  forMs: number;
}

/** The network has taken or lost the message, and has not answered for so long that it is not sent again. */
export class SendUnanswered extends Error {
  constructor(message = 'the network never answered') {
    super(message);
    this.name = 'SendUnanswered';
  }
}

/** The network could not be reached or did not answer in time: the outcome is unknown. */
export class SendUnavailable extends Error {
  constructor(message = 'the network did not answer', options?: ErrorOptions) {
    super(message, options);
    this.name = 'SendUnavailable';
  }
}

/** The session has no connection yet, or none any more: nothing was asked. */
export class NotConnected extends SendUnavailable {
  constructor(message = 'the session is not connected', options?: ErrorOptions) {
    super(message, options);
    this.name = 'NotConnected';
  }
}
