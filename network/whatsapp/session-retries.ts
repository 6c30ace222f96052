/** Resends messages that a device could not decrypt. */
import { readMessage } from './known-messages.ts';
import type { LibrarySocket, WireNode } from './library-types.ts';
import { nameOf, type WhatsAppContext } from './session-context.ts';
import { kindOf } from './wire/content.ts';
import { childOf, childrenOf } from './wire/nodes.ts';
import type { WireKey, WireMessage } from './wire/wire-types.ts';

/** The message to resend, as it was sent; never one written by someone else. */
export async function messageFor(session: WhatsAppContext, key: WireKey): Promise<WireMessage | undefined> {
  if (!key.remoteJid || !key.id) return undefined;
  const chat = await nameOf(session, key.remoteJid);
  const known = await readMessage({ library: session.library, keys: session.request.keys }, chat, key.id);
  // A deleted message has no content left.
  if (!known?.fromMe || !kindOf(known.message)) return undefined;
  session.connection?.socket.askers.answerWith(key.id, key.participant ?? '', known.message);
  return known.message;
}

/** Notes which device asks for a message again, before the library answers. */
export function noteAsker({ askers }: LibrarySocket, node: WireNode): void {
  const { attrs } = node;
  if (attrs.type !== 'retry' || !Array.isArray(node.content)) return;
  const count = Number(childOf(node, 'retry')?.attrs.count ?? 1);
  const ids = [attrs.id, ...childrenOf(childOf(node, 'list')).map((item) => item.attrs.id)].filter(
    (id) => id !== undefined,
  );
  const jid = attrs.participant ?? attrs.from;
  if (jid) askers.note(ids, { jid, count, attrs });
}

/**
 * Stops the library from keeping sent messages: it holds each for five minutes, and the timer for that also
 * holds the transaction in which it was sent, with all keys read there. Our store has the message anyway,
 * also for the session's next owner. The retry manager's other function stays: it renews sessions that fail
 * repeatedly.
 */
export function forgetSent({ messageRetryManager }: LibrarySocket): void {
  if (messageRetryManager) messageRetryManager.addRecentMessage = () => undefined;
}
