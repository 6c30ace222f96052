import { findMessages } from './find-message.ts';
import { requireLive, type WhatsAppContext } from './session-context.ts';
import type { WireKey } from './wire/wire-types.ts';

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
  const known = await findMessages(session, chat, ids);
  const isGroup = chat.endsWith('@g.us');
  return [...known.values()]
    .filter((message) => !message.fromMe)
    .map(({ id, from, list }) => ({
      remoteJid: list ?? chat,
      id,
      fromMe: false,
      ...(isGroup || list ? { participant: from } : {}),
    }));
}
