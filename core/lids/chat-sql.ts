import { USER_SERVER } from '@posthorn/contract/jid.ts';

/**
 * The chat of a row of `messages`: that of the phone, where it was stored under an anonymous id whose phone was learnt
 * since. Looks nothing up for other chats.
 */
export const CHAT_JID_SQL = `CASE WHEN messages.chat_jid LIKE '%@lid' OR messages.chat_jid LIKE '%@bsuid' THEN coalesce(
    (SELECT l.phone || '@${USER_SERVER}' FROM lids l
     WHERE l.instance_id = messages.instance_id AND l.lid = messages.chat_jid), messages.chat_jid)
  ELSE messages.chat_jid END AS chat_jid`;
