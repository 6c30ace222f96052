import { isUserJid } from '@posthorn/contract/jid.ts';
import { readMessages } from './known-messages.ts';
import { namesFor, type WhatsAppContext } from './session-context.ts';
import type { KnownMessage } from './wire/outbound.ts';

/**
 * The stored ones of these messages of a chat. Those that came while it was known by its anonymous id alone are
 * stored under that.
 */
export async function findMessages(
  session: WhatsAppContext,
  chat: string,
  ids: readonly string[],
): Promise<Map<string, KnownMessage>> {
  const stored = { library: session.library, keys: session.request.keys };
  const known = await readMessages(stored, chat, ids);
  const others = ids.filter((id) => !known.has(id));
  if (others.length === 0 || !isUserJid(chat)) return known;
  const [, lid] = await namesFor(session, chat);
  return lid ? new Map([...known, ...(await readMessages(stored, lid, others))]) : known;
}

export async function findMessage(
  session: WhatsAppContext,
  chat: string,
  id: string,
): Promise<KnownMessage | null> {
  return (await findMessages(session, chat, [id])).get(id) ?? null;
}
