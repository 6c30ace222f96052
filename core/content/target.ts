import type { MessageTarget } from '../network/messages.ts';
import type { KnownMessage } from './rule.ts';

/** A message of our history as the network names it. */
export function wireTarget(target: KnownMessage): MessageTarget {
  const id = target.networkId ?? target.id;
  return {
    id,
    from_me: target.direction === 'outbound',
    ...(target.senderJid ? { sender: target.senderJid } : {}),
  };
}

/** It has left, or came from, the network: only then can anything refer to it there. */
export function reachedNetwork(target: KnownMessage): boolean {
  return target.direction === 'inbound' || !['queued', 'failed'].includes(target.status);
}

/** Whether `ref`, a UUID or network id, names this message. */
export function names(ref: string, target: KnownMessage): boolean {
  const id = ref.toUpperCase();
  return id === target.id.toUpperCase() || id === target.networkId?.toUpperCase();
}
