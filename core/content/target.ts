import type { KnownMessage } from './rule.ts';

/** How the network names the message that a reaction, edit or delete is about. */
export interface WireTarget {
  id: string;
  /** Absent when the message is not in our history: the network knows. */
  from_me?: boolean;
  sender?: string;
}

export function wireTarget(target: KnownMessage): WireTarget {
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
