import { USER_SERVER } from '@posthorn/contract/jid.ts';

/**
 * The chat of a row of `messages`: that of the phone, where it was stored under an anonymous id whose phone was learnt
 * since, or of the user id that took its place. Looks nothing up for other chats.
 */
export const CHAT_JID_SQL = `CASE WHEN messages.chat_jid LIKE '%@lid' OR messages.chat_jid LIKE '%@bsuid' THEN coalesce(
    (SELECT l.phone || CASE WHEN l.phone LIKE '%.%' THEN '@bsuid' ELSE '@${USER_SERVER}' END FROM lids l
     WHERE l.instance_id = messages.instance_id AND l.lid = messages.chat_jid), messages.chat_jid)
  ELSE messages.chat_jid END AS chat_jid`;

/**
 * When the person of a chat last wrote, or null; of SQL expressions for the instance and the chat. They may have written
 * under other ids, before their phone or their present id was known.
 */
export function lastReceivedSql(instanceId: string, chatJid: string): string {
  return `(
    SELECT max(last.created_at)
    FROM unnest(ARRAY[${chatJid}] || ARRAY(
      SELECT l.lid FROM lids l WHERE l.instance_id = ${instanceId} AND l.phone = split_part(${chatJid}, '@', 1)
    )) AS own (jid)
    CROSS JOIN LATERAL (
      SELECT m.created_at FROM messages m
      WHERE m.instance_id = ${instanceId} AND m.chat_jid = own.jid AND m.direction = 'inbound'
      ORDER BY m.id DESC LIMIT 1
    ) AS last
  )`;
}
