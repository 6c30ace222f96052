/**
 * People as a message names them. Most groups, and many chats, know people by their anonymous ids alone: there apps
 * look for what a message is about, and for whom it mentions, by those.
 */
import { isGroupJid, isLidJid } from '@posthorn/contract/jid.ts';
import { type Names, wireName, wireNames } from './addressing.ts';
import { findMessage } from './find-message.ts';
import { isOwn, ownJid, ownLid, requireLive, type WhatsAppContext } from './session-context.ts';
import { withoutDevice } from './wire/jids.ts';
import type { KnownMessage } from './wire/outbound.ts';

/** A stored message, with its author as it was named when the message came. */
export async function findNamed(
  session: WhatsAppContext,
  chat: string,
  id: string,
): Promise<KnownMessage | null> {
  const known = await findMessage(session, chat, id);
  return known && { ...known, from: await nameBy(session, known.from, known.names) };
}

/** Our name for somebody as one of the network's; of whom the anonymous id is not known, the number. */
export async function nameBy(
  session: WhatsAppContext,
  jid: string,
  names: Names | undefined,
): Promise<string> {
  if (names !== 'ids') return jid;
  if (jid === ownJid(session)) return ownLid(session) || jid;
  return withoutDevice(await wireName(requireLive(session).socket, jid, names));
}

type Content = Record<string, unknown>;

/**
 * Content for a chat, whose mentions are our names. Rejects if the network does not tell of a group how it names
 * people.
 */
export async function withWireMentions(
  session: WhatsAppContext,
  chat: string,
  content: Content,
): Promise<Content> {
  if (!isGroupJid(chat) || mentionsOf(content).length === 0) return content;
  const { socket } = requireLive(session);
  const { addressingMode } = await session.groups.read(chat);
  if (addressingMode !== 'lid') return content;
  return withMentions(content, async (jids) => {
    const names = await wireNames(socket, jids, 'ids');
    const own = ownLid(session);
    return names.map((name, at) => (jids[at] === ownJid(session) && own ? own : withoutDevice(name)));
  });
}

/** Content that arrived, with our names for whom it mentions. */
export function withOurMentions(session: WhatsAppContext, content: Content): Promise<Content> {
  return withMentions(content, async (given) => {
    const jids = given.map(withoutDevice);
    const lids = jids.filter(isLidJid);
    if (lids.length === 0) return jids;
    const { lidMapping } = session.connection?.socket.signalRepository ?? {};
    const known = (await lidMapping?.getPNsForLIDs(lids).catch(() => null)) ?? [];
    const phones = new Map(known.map(({ lid, pn }) => [lid, withoutDevice(pn)]));
    return jids.map((jid) => (isOwn(session, jid) ? ownJid(session) : (phones.get(jid) ?? jid)));
  });
}

const MENTION = /@(\d{5,20})(?!\d)/g;
/** As many as a group has members. */
const MENTIONS_MAX = 1_024;

type Rename = (jids: string[]) => Promise<string[]>;

/** The words name people by the first part of the same names. */
async function withMentions(content: Content, rename: Rename): Promise<Content> {
  const mentions = mentionsOf(content);
  const some = mentions.slice(0, MENTIONS_MAX);
  if (some.length === 0) return content;
  const names = await rename(some);
  const users = new Map(some.map((jid, at) => [userOf(jid), userOf(names[at]!)]));
  const words = Object.entries(content).map(([field, value]) => [
    field,
    (field === 'text' || field === 'caption') && typeof value === 'string'
      ? value.replaceAll(MENTION, (whole, user: string) => (users.has(user) ? `@${users.get(user)}` : whole))
      : value,
  ]);
  return { ...Object.fromEntries(words), mentions: [...names, ...mentions.slice(MENTIONS_MAX)] };
}

function mentionsOf({ mentions }: Content): string[] {
  return Array.isArray(mentions) ? mentions.filter((jid) => typeof jid === 'string') : [];
}

function userOf(jid: string): string {
  return jid.split('@', 1)[0]!.split(':', 1)[0]!;
}
