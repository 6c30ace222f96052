import { isUserJid } from '@posthorn/contract/jid.ts';
import { readMessage } from './known-messages.ts';
import { namesFor, type WhatsAppContext } from './session-context.ts';
import type { KnownMessage } from './wire/outbound.ts';

/** A stored message of a chat. One that came while the chat was known by its anonymous id alone is stored under that. */
export async function findMessage(
  session: WhatsAppContext,
  chat: string,
  id: string,
): Promise<KnownMessage | null> {
  const stored = { library: session.library, keys: session.request.keys };
  const known = await readMessage(stored, chat, id);
  if (known || !isUserJid(chat)) return known;
  const [, lid] = await namesFor(session, chat, false);
  return lid ? readMessage(stored, lid, id) : null;
}
