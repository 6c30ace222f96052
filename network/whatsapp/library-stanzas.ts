/**
 * Stanzas that the library does not know. The network repeats each until it is confirmed, and ends the connection over
 * one that nobody confirms, again and again.
 */
import { STATUS_BROADCAST } from '@posthorn/contract/jid.ts';
import type { WireNode } from './library-types.ts';

/** Statuses in stanzas of their own that are not confirmed yet, by id: how the network addressed them. */
export type OpenStatuses = Map<string, WireNode['attrs']>;

const KNOWN: ReadonlySet<string> = new Set([
  ...['message', 'receipt', 'notification', 'call', 'ack', 'iq', 'ib', 'presence', 'chatstate'],
  ...['success', 'failure', 'stream:error', 'xmlstreamend'],
]);
/** The network's code for a stanza that a client does not know. */
const UNKNOWN = '488';
/** The network asks whether the client is there. */
const PING = 'urn:xmpp:ping';
/** The network's word for the name of somebody who has none. */
const NO_NAME = '-';
/** No event of the library has this name. */
const HANDLED = 'handled';

/**
 * Called before the library gets a stanza: one with a status becomes the message that it is, others are answered by what
 * this returns.
 */
export function receiveStanza(
  { openStatuses }: { openStatuses: OpenStatuses },
  frame: unknown,
  isOwn: (jid: string) => boolean,
): WireNode | null {
  const node = frame as WireNode;
  const { id, from = '', participant, recipient, type, xmlns } = node.attrs ?? {};
  if (node.tag === 'iq' && type === 'get' && xmlns === PING)
    return { tag: 'iq', attrs: { id, to: '@s.whatsapp.net', type: 'result' } };
  if (!id || from === '') return null;
  // The library would tell the network of it as the account's own, and others would be shown by it.
  if (node.attrs.notify === NO_NAME) node.attrs.notify = undefined;
  if (node.tag === 'status' && from === STATUS_BROADCAST) {
    openStatuses.set(id, { to: from, participant, type });
    node.tag = 'message';
  }
  // The library takes what the user writes to a bot on the phone for a note to themselves.
  if (node.tag === 'message' && recipient?.endsWith('@bot') && isOwn(from)) {
    node.tag = HANDLED;
    return { tag: 'receipt', attrs: { id, to: from, recipient, type: 'sender' } };
  }
  if (KNOWN.has(node.tag)) return null;
  const attrs = { id, to: from, class: node.tag, participant, recipient, type };
  return { tag: 'ack', attrs: { ...attrs, error: UNKNOWN } };
}

/** The stanzas that go out for one of the library: the network wants a status acknowledged as one, not as a message. */
export function confirmationsOf(statuses: OpenStatuses, node: WireNode, me: string | undefined): WireNode[] {
  const { id = '', to, type } = node.attrs;
  const status = to === STATUS_BROADCAST ? statuses.get(id) : undefined;
  if (!status || (node.tag === 'receipt' && type === 'retry')) return [node];
  if (node.tag === 'ack') {
    statuses.delete(id);
    return [{ ...node, attrs: { ...node.attrs, class: 'status' } }];
  }
  if (node.tag !== 'receipt') return [node];
  statuses.delete(id);
  const receipt = { ...node, attrs: { ...node.attrs, context: 'status' } };
  return [receipt, { tag: 'ack', attrs: { ...status, id, class: 'status', from: me } }];
}
