/**
 * The port to a messaging network. One driver a network; one session an instance. The worker that
 * owns an instance is the only one to hold its session.
 */
import type { Jid } from '@posthorn/contract/jid.ts';

export interface NetworkDriver {
  readonly name: string;
  /** True when the same network id sent twice is one message: then an unknown outcome is simply repeated. */
  readonly dedupes: boolean;
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
   * good, {@link SendUnavailable} when it could not be asked or did not answer: safe to repeat when
   * `NetworkDriver.dedupes`.
   */
  send(message: OutboundMessage): Promise<SendReceipt>;
  /** Shows the typing indicator in a one-to-one chat; best effort. */
  typing(chat: Jid): Promise<void>;
  /**
   * Marks received messages of a chat as read, which tells their sender. Ids that the network does not
   * know are passed over. Throws as `send` does.
   */
  markRead(chat: Jid, networkIds: readonly string[]): Promise<void>;
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
  type: string;
  /** The content as accepted: for text `{text, mentions?}`. */
  content: Record<string, unknown>;
  /** Network id of the quoted message. */
  quotedId?: string;
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
  paired(identity: { credentials: unknown; phone: string; jid: Jid; pushName: string }): Promise<void>;
  connected(): void;
  /**
   * The session ended; called exactly once, and nothing is called after it but what was under way. The
   * driver does not connect again: on `connection_lost` the owner opens anew, with back-off.
   */
  disconnected(reason: DisconnectReason): void;
  receipts(receipts: readonly NetworkReceipt[]): Promise<void>;
  inbound(messages: readonly InboundMessage[]): Promise<void>;
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
  /** The chat the message was sent to. */
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
  content: Record<string, unknown>;
  quotedId?: string;
  at: Date;
}

/** The network refused this message for good; `reason` is stable snake_case and reaches the event. */
export class SendRefused extends Error {
  readonly reason: string;
  constructor(reason: string, message = `the network refused the message: ${reason}`) {
    super(message);
    this.name = 'SendRefused';
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
