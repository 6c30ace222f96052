import { knownChatSql } from '../lids/chat-sql.ts';
import type { Sql } from '../platform/database/db.ts';
import { idInChat } from '../platform/ids.ts';

/** A row of the statement below; the rest of its fields are the message's. */
interface Arrived {
  id: string;
  networkId: string;
  chatJid: string;
}

/**
 * Stores those of these messages that are new, and gives their ids. The network repeats what was not acknowledged: the pair
 * (instance, network id) is unique. But a person who has seen an id can give it to a message in another chat. Then one of the two
 * would be lost: that message, or the one that has the id by right but comes later, while its picture is downloaded. Both are
 * stored.
 */
export async function insertInbound(
  client: Sql,
  messages: readonly Arrived[],
  now: Date,
): Promise<Set<string>> {
  const store = async (rows: readonly Arrived[]) => {
    const values = [JSON.stringify(rows), now];
    const stored = await client.query<{ id: string }>({
      name: 'messages-inbound-insert',
      text: INSERT,
      values,
    });
    return stored.rows.map((row) => row.id);
  };
  const fresh = new Set(await store(messages));
  const known = messages.filter(({ id }) => !fresh.has(id));
  if (known.length === 0) return fresh;
  // A known id may also be that of a message in another chat.
  const found = await client.query<{ id: string }>(TAKEN, [JSON.stringify(known)]);
  const taken = new Set(found.rows.map((row) => row.id));
  const renamed = known
    .filter(({ id }) => taken.has(id))
    .map((message) => ({ ...message, networkId: idInChat(message.networkId, message.chatJid) }));
  for (const id of renamed.length > 0 ? await store(renamed) : []) fresh.add(id);
  return fresh;
}

const INSERT = `
INSERT INTO messages (id, company_id, instance_id, direction, type, chat_jid, sender_jid, status, content,
                      network_id, quoted_id, push_name, media_id, is_forwarded, forwarding_score, incomplete_reason,
                      created_at, sent_at)
SELECT id, "companyId", "instanceId", CASE WHEN "fromMe" THEN 'outbound' ELSE 'inbound' END, type, "chatJid",
       CASE WHEN "fromMe" THEN NULL ELSE "senderJid" END, CASE WHEN "fromMe" THEN 'sent' ELSE 'received' END, content,
       "networkId", "quotedId", "pushName", "mediaId", "forwardingScore" IS NOT NULL,
       coalesce("forwardingScore", 0), incomplete, $2, at
FROM json_to_recordset($1) AS r (id uuid, "sentAs" uuid, "companyId" integer, "instanceId" uuid, type text,
  "chatJid" text, "senderJid" text, "fromMe" boolean, content jsonb, "networkId" text, "quotedId" text,
  "pushName" text, "mediaId" uuid, "forwardingScore" integer, incomplete text, at timestamptz)
WHERE "sentAs" IS NULL
  OR NOT EXISTS (SELECT 1 FROM messages m WHERE m.id = "sentAs" AND m.instance_id = "instanceId")
ON CONFLICT (instance_id, network_id) WHERE network_id IS NOT NULL DO NOTHING
RETURNING id`;

/** Those whose network id a message of another chat has. */
const TAKEN = `
SELECT w.id FROM json_to_recordset($1) AS w (id uuid, "instanceId" uuid, "chatJid" text, "networkId" text)
JOIN messages m ON m.instance_id = ANY (ARRAY[w."instanceId"]) AND m.network_id = w."networkId"
WHERE m.network_id IS NOT NULL AND ${knownChatSql('m.instance_id', 'm.chat_jid')} <> w."chatJid"`;
