/**
 * Messages that the account sends to its own broadcast lists, on the phone: apps show a copy in the chat with each
 * recipient.
 */
import type { InboundMessage } from '@posthorn/core/network/driver.ts';
import { idInChat } from '@posthorn/core/platform/ids.ts';
import type { ListRecipient } from './library-group-types.ts';
import type { LibraryMessage, WireNode } from './library-types.ts';
import { isList } from './wire/jids.ts';
import { childOf, childrenOf } from './wire/nodes.ts';

/** Lists have 256 at most. */
const RECIPIENTS_MAX = 1_024;

/** The recipients of a message to a list: the network tells them to the other devices of the account alone. */
export function recipientsIn(node: WireNode): ListRecipient[] | undefined {
  if (!isList(node.attrs.from ?? '')) return undefined;
  const named = childrenOf(childOf(node, 'participants')).flatMap(({ attrs }) =>
    attrs.jid ? [{ jid: attrs.jid, other: attrs.peer_recipient_pn ?? attrs.peer_recipient_lid }] : [],
  );
  return named.slice(0, RECIPIENTS_MAX);
}

/** One message for each recipient of one to a list; any other as it is. */
export function copiesOf(message: LibraryMessage): readonly LibraryMessage[] {
  const { key, recipients } = message;
  if (!recipients) return [message];
  const { id } = key;
  return recipients.map(({ jid, other }) => ({
    ...message,
    participant: null,
    key: { id, fromMe: true, remoteJid: jid, remoteJidAlt: other },
  }));
}

/** As it is told: the copies have one id, and one file. */
export function toldCopy(told: InboundMessage): InboundMessage {
  const { networkId, chat, media } = told;
  return {
    ...told,
    networkId: idInChat(networkId, chat),
    ...(media ? { media: { ...media, key: idInChat(networkId, 'broadcast') } } : {}),
  };
}
