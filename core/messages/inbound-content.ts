import { INBOUND_FAMILIES, MESSAGE_TYPES } from '@posthorn/contract/message-types.ts';
import { sentIdOf } from '../platform/ids.ts';

const FAMILIES: ReadonlySet<string> = new Set(INBOUND_FAMILIES);

/** A family that this version does not know arrives as `unknown` rather than not at all. */
export function inboundFamily(type: string): string {
  return FAMILIES.has(type) ? type : 'unknown';
}

const TYPES: ReadonlySet<string> = new Set(MESSAGE_TYPES);

/** The same for what the account itself sent from another device: statuses are messages of their own types. */
export function deviceType(type: string): string {
  return TYPES.has(type) ? type : 'unknown';
}

const REFERENCES = ['message_id', 'poll_message_id'] as const;

/** The network's ids of the messages that a content names. */
export function referencesOf(content: Record<string, unknown>): string[] {
  return REFERENCES.flatMap((field) => (typeof content[field] === 'string' ? [content[field]] : []));
}

/** Replaces the network's ids of messages that we sent by our own, with which users compare them. */
export function ownIds(
  content: Record<string, unknown>,
  ownIdOf: (networkId: string) => string | null = sentIdOf,
): Record<string, unknown> {
  const own = { ...content };
  for (const field of REFERENCES) {
    const id = own[field];
    if (typeof id === 'string') own[field] = ownIdOf(id) ?? id;
  }
  return own;
}
