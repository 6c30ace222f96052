import { INBOUND_FAMILIES } from '@posthorn/contract/message-types.ts';
import { messageIdOf } from '../platform/ids.ts';

const FAMILIES: ReadonlySet<string> = new Set(INBOUND_FAMILIES);

/** A family that this version does not know arrives as `unknown` rather than not at all. */
export function inboundFamily(type: string): string {
  return FAMILIES.has(type) ? type : 'unknown';
}

/** Ids of messages that we sent become our own: what a user compares them with. */
export function ownIds(content: Record<string, unknown>): Record<string, unknown> {
  const own = { ...content };
  for (const field of ['message_id', 'poll_message_id']) {
    const id = own[field];
    if (typeof id === 'string') own[field] = messageIdOf(id) ?? id;
  }
  return own;
}
