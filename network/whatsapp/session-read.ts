import { isLidJid, isUserJid } from '@posthorn/contract/jid.ts';
import { findMessages } from './find-message.ts';
import { requireLive, type WhatsAppContext } from './session-context.ts';
import type { WireKey } from './wire/wire-types.ts';
import { nameBy } from './wire-names.ts';

/** Tells the senders of these messages that they were read; skips unknown ones. */
export async function markRead(
  session: WhatsAppContext,
  chat: string,
  ids: readonly string[],
): Promise<void> {
  const { socket } = requireLive(session);
  const keys = await keysToRead(session, chat, ids);
  if (keys.length > 0) await socket.readMessages(keys);
}

/** The network's keys of those of these messages that others wrote. */
export async function keysToRead(
  session: WhatsAppContext,
  chat: string,
  ids: readonly string[],
): Promise<WireKey[]> {
  const keys: WireKey[] = [];
  for (const { id, from, fromMe, list, names } of (await findMessages(session, chat, ids)).values()) {
    if (fromMe) continue;
    const author = await nameBy(session, from, names);
    const shared = list ?? (isUserJid(chat) || isLidJid(chat) ? undefined : chat);
    keys.push({
      id,
      fromMe: false,
      ...(shared ? { remoteJid: shared, participant: author } : { remoteJid: author }),
    });
  }
  return keys;
}
