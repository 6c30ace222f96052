import { parseChat } from '@posthorn/contract/jid.ts';
import { readKnownJid } from '../lids/read-phones.ts';
import type { Sql } from '../platform/database/db.ts';

/** The fields in which a body names the chat of the message that it is about. */
const CHATS = ['to', 'forward_chat_id'] as const;

/** Replaces the chats that a body names by their addresses of today, under which the messages that it refers to are found. */
export async function withKnownChats(
  sql: Sql,
  instanceId: string,
  body: Record<string, unknown>,
): Promise<Record<string, unknown>> {
  const known = { ...body };
  for (const field of CHATS) {
    const parsed = parseChat(String(body[field] ?? ''));
    if ('jid' in parsed) known[field] = await readKnownJid(sql, instanceId, parsed.jid);
  }
  return known;
}

/** The chat of the message that such a body is about; undefined where it does not say. */
export function chatOfTarget({ to, forward_chat_id }: Record<string, unknown>): string | undefined {
  return (forward_chat_id ?? to) as string | undefined;
}
