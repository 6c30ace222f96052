/**
 * Decides which changes of messages are allowed. The network cannot, because the change is encrypted: the
 * receiver must.
 */
import { isGroupJid, isUserJid } from '@posthorn/contract/jid.ts';
import type { NetworkChange } from '@posthorn/core/network/driver.ts';
import { idOf, keepWords, readAuthors } from './known-messages.ts';
import { nameOf, namesFor, ownJid, type WhatsAppContext } from './session-context.ts';

/** Minimum interval between queries for a group's admins, however many deletions arrive. */
const ADMINS_FRESH_MS = 60_000;
const GROUPS_MAX = 100;

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
  const names = isUserJid(chat) ? await namesFor(session, chat, false) : [chat];
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
  const [, lid] = await namesFor(session, chat, false);
  return lid ? authorOf(session, lid, id) : null;
}

async function isAdmin(session: WhatsAppContext, chat: string, person: string): Promise<boolean> {
  const nowMs = session.deps.clock.now().getTime();
  const known = session.admins.get(chat);
  if (known && nowMs - known.atMs < ADMINS_FRESH_MS) return known.jids.has(person);
  const jids = await readAdmins(session, chat);
  session.admins.delete(chat);
  session.admins.set(chat, { atMs: nowMs, jids });
  if (session.admins.size > GROUPS_MAX) session.admins.delete(session.admins.keys().next().value!);
  return jids.has(person);
}

/**
 * Empty if the network does not answer. Throws if the session is not connected: then the query is repeated.
 */
async function readAdmins(session: WhatsAppContext, chat: string): Promise<Set<string>> {
  if (session.phase !== 'live' || !session.connection) throw new Error('the session is not connected');
  const group = await session.connection.socket.groupMetadata(chat).catch((err) => {
    if (session.phase !== 'live') throw err;
    return null;
  });
  const admins = (group?.participants ?? []).filter(
    ({ admin }) => admin === 'admin' || admin === 'superadmin',
  );
  return new Set(await Promise.all(admins.map(({ id, phoneNumber }) => nameOf(session, id, phoneNumber))));
}
