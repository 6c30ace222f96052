import { type ApiError, apiError } from '@posthorn/contract/api-error.ts';
import { CONVERSATION_WINDOW_S } from '@posthorn/contract/limits.ts';
import { addressRefusal } from '../instances/driver-abilities.ts';
import { lastWrittenSql } from '../lids/chat-sql.ts';
import { otherNumberOf } from '../lids/other-numbers.ts';
import type { Sql } from '../platform/database/db.ts';

interface Chat {
  instanceId: string;
  chatJid: string;
}

/** Where the network waits for people to write first. */
export function waitsForPeople(lacks: readonly string[] | null): boolean {
  return lacks?.includes('unprompted') ?? false;
}

/**
 * Those of these chats in which somebody has written within the window. Before the first send to a number nobody knows which
 * account it leads to, so a chat with its other number counts as well; if it is somebody else's, the network refuses the send.
 */
export async function readOpenChats(
  sql: Sql,
  chats: readonly Chat[],
  now: Date,
): Promise<ReadonlySet<string>> {
  if (chats.length === 0) return new Set();
  const { rows } = await sql.query<{ instance_id: string; chat_jid: string }>({
    name: 'messages-open-chats',
    text: `SELECT w."instanceId" AS instance_id, w."chatJid" AS chat_jid
           FROM json_to_recordset($1) AS w ("instanceId" uuid, "chatJid" text)
           WHERE ${lastWrittenSql('w."instanceId"', 'w."chatJid"')} > $2`,
    values: [
      JSON.stringify(chats.flatMap(underBothNumbers)),
      new Date(now.getTime() - CONVERSATION_WINDOW_S * 1000),
    ],
  });
  return new Set(rows.map((row) => keyOf({ instanceId: row.instance_id, chatJid: row.chat_jid })));
}

/**
 * Why this address cannot be written to now, or undefined: 501 NOT_IMPLEMENTED where the network lacks such addresses, 409
 * CONVERSATION_WINDOW_CLOSED where it would refuse the send and say so only later; `force` passes that, and an
 * approved template.
 */
export function reachRefusal(
  lacks: readonly string[] | null,
  openChats: ReadonlySet<string>,
  chat: Chat & { force: boolean; operation: string },
): ApiError | undefined {
  const unknown = addressRefusal(lacks, chat.chatJid);
  if (unknown) return unknown;
  if (
    chat.force ||
    chat.operation === 'approved_template' ||
    !waitsForPeople(lacks) ||
    underBothNumbers(chat).some((each) => openChats.has(keyOf(each)))
  )
    return undefined;
  return apiError('CONVERSATION_WINDOW_CLOSED');
}

function underBothNumbers({ instanceId, chatJid }: Chat): Chat[] {
  const other = otherNumberOf(chatJid);
  return [{ instanceId, chatJid }, ...(other ? [{ instanceId, chatJid: other }] : [])];
}

function keyOf({ instanceId, chatJid }: Chat): string {
  return `${instanceId} ${chatJid}`;
}
