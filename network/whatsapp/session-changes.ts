/**
 * Decides which changes of messages are allowed. The network cannot, because the change is encrypted: the
 * receiver must.
 */
import { isGroupJid, isUserJid } from '@posthorn/contract/jid.ts';
import type { NetworkChange } from '@posthorn/core/network/driver.ts';
import { isAdmin } from './group-admins.ts';
import { idOf, keepWords, readAuthors } from './known-messages.ts';
import { nameOf, namesFor, ownJid, type WhatsAppContext } from './session-context.ts';

/**
 * True for the author of the message, and for a deletion by an admin of its group. A message that is not
 * stored here cannot be changed any more: the network's own apps edit for minutes and delete for days, and
 * received messages are stored for 30 days.
 */
export async function mayChange(session: WhatsAppContext, change: NetworkChange): Promise<boolean> {
  const { chat, networkId, fromMe } = change;
  const author =
    (await authorOf(session, chat, networkId)) ?? (await authorUnderLid(session, chat, networkId));
  if (!author) return false;
  if (author === (fromMe ? ownJid(session) : change.from)) return true;
  return change.kind === 'deleted' && isGroupJid(chat) && (await isAdmin(session, chat, change.from));
}

/** Replaces the text of a stored message, which later quotes and forwards use. Null if it was deleted. */
export async function keepWordsOf(
  session: WhatsAppContext,
  chat: string,
  id: string,
  words: Record<string, unknown> | null,
): Promise<void> {
  const stored = { library: session.library, keys: session.request.keys };
  // As in `authorUnderLid`.
  const names = isUserJid(chat) ? await namesFor(session, chat) : [chat];
  for (const name of names) await keepWords(stored, name, id, words);
}

/** The authors of the stored ones of these messages, by our current names, by `idOf`. */
export async function authorsOf(
  session: WhatsAppContext,
  messages: readonly { chat: string; id: string }[],
): Promise<Map<string, string>> {
  const authors = new Map<string, string>();
  for (const [name, { from, fromMe }] of await readAuthors(session.request.keys, messages))
    authors.set(name, fromMe ? ownJid(session) : await nameOf(session, from));
  return authors;
}

/** Null if the message is not stored. */
async function authorOf(session: WhatsAppContext, chat: string, id: string): Promise<string | null> {
  return (await authorsOf(session, [{ chat, id }])).get(idOf(chat, id)) ?? null;
}

/** When the message arrived, the chat may have been known only by its anonymous id. */
async function authorUnderLid(session: WhatsAppContext, chat: string, id: string): Promise<string | null> {
  if (!isUserJid(chat)) return null;
  const [, lid] = await namesFor(session, chat);
  return lid ? authorOf(session, lid, id) : null;
}
