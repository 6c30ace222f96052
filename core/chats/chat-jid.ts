import { apiError } from '@posthorn/contract/api-error.ts';
import { parseChatId } from '@posthorn/contract/chat-id.ts';
import type { Jid } from '@posthorn/contract/jid.ts';

/** The chat that any of its spellings names. Throws 400 INVALID_PHONE or INVALID_RECIPIENT. */
export function chatJidOf(chatId: string): Jid {
  const parsed = parseChatId(chatId);
  if ('error' in parsed) throw apiError(parsed.error);
  return parsed.jid;
}
