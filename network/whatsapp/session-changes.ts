/** Who may change which message. The network cannot tell, since what a change names is sealed: whoever receives it judges. */
import { isGroupJid, isUserJid } from '@posthorn/contract/jid.ts';
import type { NetworkChange } from '@posthorn/core/network/driver.ts';
import { keepWords, readAuthor } from './known-messages.ts';
import { type Context, nameOf, namesFor, ownJid } from './session-context.ts';

/** Admins of a group are asked for at most so often, whoever sends how many deletions. */
const ADMINS_FRESH_MS = 60_000;
const GROUPS_MAX = 100;

/**
 * True for the author of the message, and for the deletion of a message by an admin of its group. A message that is
 * not kept here cannot be changed any more: the network's own apps edit for minutes and delete for days, and what
 * arrived is kept for 30 days.
 */
export async function mayChange(session: Context, change: NetworkChange): Promise<boolean> {
  const { chat, networkId, fromMe } = change;
  const author =
    (await authorOf(session, chat, networkId)) ?? (await authorUnderLid(session, chat, networkId));
  if (!author) return false;
  if (author === (fromMe ? ownJid(session) : change.from)) return true;
  return change.kind === 'deleted' && isGroupJid(chat) && (await isAdmin(session, chat, change.from));
}

/** New words of a message that is kept: whoever quotes or forwards it gives these. Null when it was deleted. */
export async function keepWordsOf(
  session: Context,
  chat: string,
  id: string,
  words: Record<string, unknown> | null,
): Promise<void> {
  const stored = { library: session.library, keys: session.request.keys };
  // As in `authorUnderLid`.
  const names = isUserJid(chat) ? await namesFor(session, chat, false) : [chat];
  for (const name of names) await keepWords(stored, name, id, words);
}

/** By the name that we have for the author today; null for a message that is not kept. */
export async function authorOf(session: Context, chat: string, id: string): Promise<string | null> {
  const author = await readAuthor(session.request.keys, chat, id);
  if (!author) return null;
  return author.fromMe ? ownJid(session) : nameOf(session, author.from);
}

/** The chat may have been known by its anonymous id alone when the message came. */
async function authorUnderLid(session: Context, chat: string, id: string): Promise<string | null> {
  if (!isUserJid(chat)) return null;
  const [, lid] = await namesFor(session, chat, false);
  return lid ? authorOf(session, lid, id) : null;
}

async function isAdmin(session: Context, chat: string, person: string): Promise<boolean> {
  const nowMs = session.deps.clock.now().getTime();
  const known = session.admins.get(chat);
  if (known && nowMs - known.atMs < ADMINS_FRESH_MS) return known.jids.has(person);
  const jids = await readAdmins(session, chat);
  session.admins.delete(chat);
  session.admins.set(chat, { atMs: nowMs, jids });
  if (session.admins.size > GROUPS_MAX) session.admins.delete(session.admins.keys().next().value!);
  return jids.has(person);
}

/** Empty where the network does not tell. Throws when the session is not connected: then it is asked again. */
async function readAdmins(session: Context, chat: string): Promise<Set<string>> {
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
