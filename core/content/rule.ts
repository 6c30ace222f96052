import type { ApiError } from '@posthorn/contract/api-error.ts';
import { type Jid, parseChat } from '@posthorn/contract/jid.ts';
import type { z } from 'zod/v4';
import type { MediaKind, MediaRecord } from '../media/media-port.ts';
import type { NewMessage } from './new-message.ts';

/** A message of the instance's history, as far as sends that refer to it need to know. */
export interface KnownMessage {
  id: string;
  /** The network's id of the message; null for an inbound one of a network without ids. */
  networkId: string | null;
  direction: 'inbound' | 'outbound';
  type: string;
  status: string;
  chatJid: string;
  senderJid: string | null;
  content: Record<string, unknown>;
  mediaId: string | null;
  isForwarded: boolean;
  forwardingScore: number;
  sentAt: Date | null;
  createdAt: Date;
  deletedAt: Date | null;
}

/** A status of the feed that is answered. */
export interface KnownStatus {
  /** The network's id of it. */
  networkId: string;
  /** The poster, by phone where it is known; null for a status of the account's own. */
  poster: Jid | null;
}

/** The results of the look-ups for a send. `undefined`: not looked up; null: not there. */
export interface Found {
  media?: MediaRecord | undefined;
  target?: KnownMessage | null | undefined;
  status?: KnownStatus | null | undefined;
  now: Date;
}

/**
 * One content type: the shape of its body and what it becomes. Pure: what has to be looked up is named
 * here and found by prepare-send.ts.
 */
export interface SendRule<Body = Record<string, unknown>> {
  /** The body, with what the path names added (`message_id` of edit, `status_id` of a reply). */
  body: z.ZodType<Body>;
  /** Sends with media: what the text fields of a multipart form come to. */
  form?: z.ZodType;
  /** The kind of media that this body sends; null when it has none. */
  media?: (body: Body) => MediaKind | null;
  /** UUID or network id of the message that it is about. */
  target?: (body: Body) => string;
  /** Id of the status that it answers. */
  status?: (body: Body) => string;
  /** The message, or why there will be none (said unless it is a replay). */
  toMessage(body: Body, found: Found): NewMessage | ApiError;
}

/** Lets a rule be written in the types of its own body and share one table with the others. */
export function rule<S extends z.ZodType>(typed: SendRule<z.output<S>> & { body: S }): SendRule {
  return typed as unknown as SendRule;
}

/** The contract has refused what is no recipient. */
export function jidOf(to: string): string {
  const parsed = parseChat(to);
  if ('error' in parsed) throw new Error('an invalid recipient passed the contract');
  return parsed.jid;
}

/** An object without the fields that are undefined: what is stored says what was given, nothing else. */
export function given<T extends Record<string, unknown>>(fields: T): Record<string, unknown> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}
