import { USER_SERVER } from '@posthorn/contract/jid.ts';
import { mayHaveOtherNumberSql } from './other-numbers.ts';

/**
 * SQL: the chat that an address names today: that of the phone, where it is an anonymous id whose phone was learnt since it was
 * stored, or a number whose account has another one, or of the user id that took its place. Looks nothing up for other chats.
 */
export function knownChatSql(instanceId: string, chatJid: string): string {
  return `CASE WHEN ${chatJid} LIKE '%@lid' OR ${chatJid} LIKE '%@bsuid' OR ${mayHaveOtherNumberSql(chatJid)} THEN coalesce(
    (SELECT l.phone || CASE WHEN l.phone LIKE '%.%' THEN '@bsuid' ELSE '@${USER_SERVER}' END FROM lids l
     WHERE l.instance_id = ${instanceId} AND l.lid = ${chatJid}), ${chatJid})
  ELSE ${chatJid} END`;
}

/** The same of a row of `messages`. */
export const CHAT_JID_SQL = `${knownChatSql('messages.instance_id', 'messages.chat_jid')} AS chat_jid`;

/** When a message of the person of a chat was last recorded, or null; of SQL expressions for the instance and the chat. */
export function lastReceivedSql(instanceId: string, chatJid: string): string {
  return lastSql(instanceId, chatJid, { when: 'm.created_at', among: 1 });
}

/**
 * When the person of a chat last wrote, or null. A network that could not hand messages over does so days later, and then
 * in no order.
 */
export function lastWrittenSql(instanceId: string, chatJid: string): string {
  return lastSql(instanceId, chatJid, { when: 'least(m.sent_at, m.created_at)', among: 20 });
}

/**
 * The greatest time `when` of the newest messages of the person of a chat, `among` so many of each of their ids. They may
 * have written under other ids, before their phone or their present id was known.
 */
function lastSql(
  instanceId: string,
  chatJid: string,
  { when, among }: { when: string; among: number },
): string {
  return `(
    SELECT max(last.at)
    FROM unnest(ARRAY[${chatJid}] || ARRAY(
      SELECT l.lid FROM lids l WHERE l.instance_id = ${instanceId} AND l.phone = split_part(${chatJid}, '@', 1)
    )) AS own (jid)
    CROSS JOIN LATERAL (
      SELECT ${when} AS at FROM messages m
      WHERE m.instance_id = ${instanceId} AND m.chat_jid = own.jid AND m.direction = 'inbound'
      ORDER BY m.id DESC LIMIT ${among}
    ) AS last
  )`;
}
