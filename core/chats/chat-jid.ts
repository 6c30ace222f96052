import { apiError } from '@posthorn/contract/api-error.ts';
import { type Jid, parseChat } from '@posthorn/contract/jid.ts';
import { readKnownJid } from '../lids/read-phones.ts';
import type { Sql } from '../platform/database/db.ts';

/**
 * The chat that any of its spellings names; an anonymous id whose phone is known names the phone's. Throws 400
 * INVALID_PHONE or INVALID_RECIPIENT.
 */
export async function chatJidOf(sql: Sql, instanceId: string, chatId: string): Promise<Jid> {
  const parsed = parseChat(withLowerDomain(chatId));
  if ('error' in parsed) throw apiError(parsed.error);
  return readKnownJid(sql, instanceId, parsed.jid);
}

/** The same for an id that may name nothing: null then. */
export async function findChatJid(sql: Sql, instanceId: string, chatId: string): Promise<Jid | null> {
  const parsed = parseChat(withLowerDomain(chatId));
  return 'error' in parsed ? null : readKnownJid(sql, instanceId, parsed.jid);
}

/** Domains are written in either case here; user ids tell cases apart. */
function withLowerDomain(chatId: string): string {
  const at = chatId.lastIndexOf('@');
  return at < 0 ? chatId : chatId.slice(0, at) + chatId.slice(at).toLowerCase();
}
