/** The chat that an id of a path or query names, in any of its spellings. */
import { type Jid, parseRecipient } from './jid.ts';

const LID_CHAT = /^\d{5,20}@lid$/;

/**
 * A phone number as people write it, a JID of a person or a group, or an anonymous id: chats have all three. Otherwise
 * the error code that says what is wrong with it.
 */
export function parseChatId(text: string): { jid: Jid } | { error: 'INVALID_PHONE' | 'INVALID_RECIPIENT' } {
  const given = text.trim().toLowerCase();
  return LID_CHAT.test(given) ? { jid: given } : parseRecipient(given);
}
