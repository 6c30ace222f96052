/** Messages that a device could not open, and asks for again. */
import { readMessage } from './known-messages.ts';
import type { LibrarySocket } from './library-types.ts';
import { type Context, nameOf } from './session-context.ts';
import { kindOf } from './wire/content.ts';
import type { WireMessage } from './wire/wire-types.ts';

/** What devices ask for again, as it was sent: what others wrote is never sent in our name. */
export async function messageFor(
  session: Context,
  key: { remoteJid?: string | null; id?: string | null },
): Promise<WireMessage | undefined> {
  if (!key.remoteJid || !key.id) return undefined;
  const chat = await nameOf(session, key.remoteJid);
  const known = await readMessage({ library: session.library, keys: session.request.keys }, chat, key.id);
  // Of a deleted one there is nothing left.
  return known?.fromMe && kindOf(known.message) ? known.message : undefined;
}

/**
 * The library keeps each message for five minutes in memory, and by the timer that ends this also the transaction in
 * which it was sent, with all keys that were read there. The store has it anyway, for the next owner of the session
 * too. Its retry manager stays for the rest: it renews sessions that fail again and again.
 */
export function forgetSent({ messageRetryManager }: LibrarySocket): void {
  if (messageRetryManager) messageRetryManager.addRecentMessage = () => undefined;
}
