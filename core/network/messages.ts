/** Messages, and what happens to them, as they pass the port. */
import type { Readable } from 'node:stream';
import type { Jid } from '@posthorn/contract/jid.ts';
import type { Operation } from '@posthorn/contract/message-types.ts';

/** A message as it is handed to the network. */
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

/**
 * The send operation that made the message. Forwards, answers to statuses and texts with a preview have the `type` of what
 * they carry; any other message has its operation as its `type`.
 */
export function operationOf({ type, content, source, status }: OutboundMessage): Operation {
  if (source) return 'forward';
  if (status) return 'status_reply';
  return type === 'text' && content.preview !== undefined ? 'link_preview' : (type as Operation);
}

/** Names a message within its chat, as networks do: its id, and who wrote it where that is known. */
export interface MessageTarget {
  id: string;
  from_me?: boolean;
  sender?: Jid;
}

/** Media in the form in which the network takes it. */
export interface OutboundMedia {
  /** The same for the same bytes in the same form. */
  key?: string;
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

export interface NetworkReceipt {
  networkId: string;
  /**
   * `sent`: the network has taken a message after its send had ended as unanswered or as accepted. `failed`: it took it
   * and will not deliver it.
   */
  kind: 'sent' | 'delivered' | 'read' | 'played' | 'failed';
  /** With `failed`: why, in stable snake_case. */
  reason?: string;
  /** How the network calls it, as in the receipt of its send. */
  assignedId?: string;
  /** The chat the message was sent to; `status@broadcast` for a status. */
  chat: Jid;
  /** The account that received or read it; for `sent` our own account. */
  by: Jid;
  at: Date;
}

export interface InboundMessage {
  networkId: string;
  chat: Jid;
  from: Jid;
  pushName: string;
  /**
   * The account itself sent it, on its phone or another device: then `from` is the account, and `chat` the one that it
   * was sent to. Messages that this session sent never arrive.
   */
  fromMe?: boolean;
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
  /** The same for messages that share one file. */
  key?: string;
  mimeType: string;
  fileName: string;
  sizeBytes: number;
  animated?: boolean;
}

/** A change of a message or status; `from` is who made it, `fromMe` when that is the account on another device. */
export type NetworkChange = MessageChange & { chat: Jid; from: Jid; fromMe?: boolean };

/** A change of the message `networkId`. `changeId` is how the network calls the change itself, where it names it. */
export type MessageChange = { networkId: string; changeId?: string; at: Date } & (
  | { kind: 'edited'; content: Record<string, unknown> }
  | { kind: 'deleted' }
  | { kind: 'starred'; starred: boolean }
);
