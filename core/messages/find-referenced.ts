import type { KnownMessage } from '../content/rule.ts';
import { CHAT_JID_SQL } from '../lids/chat-sql.ts';
import type { Sql } from '../platform/database/db.ts';
import { idInChat, isUuid, messageIdOf, networkIdOf, plainIdOf } from '../platform/ids.ts';

/**
 * The message of this instance that a UUID or network id names, or null; of several to which their senders gave one network
 * id, that of `chat`, which is an address of today. Not scoped to a company: what it
 * decides is told only after the accept has seen that the instance is the caller's.
 */
export async function findReferenced(
  sql: Sql,
  instanceId: string,
  ref: string,
  chat?: string,
): Promise<KnownMessage | null> {
  // An outbound message's network id is made of its UUID; an inbound one's is stored.
  const id = isUuid(ref) ? ref : messageIdOf(ref.toUpperCase());
  const names = [ref, ref.toUpperCase()];
  const found = await sql.query<Row>({
    name: 'messages-find-referenced',
    text: `SELECT * FROM (
             SELECT ${COLUMNS} FROM messages WHERE id = $2 AND instance_id = $1
             UNION ALL
             SELECT ${COLUMNS} FROM messages WHERE instance_id = $1 AND network_id = ANY ($3)
           ) AS found ORDER BY chat_jid IS DISTINCT FROM $4, direction DESC LIMIT 1`,
    values: [instanceId, id, [...names, ...names.map((name) => idInChat(name, chat ?? ''))], chat ?? null],
  });
  const row = found.rows[0];
  if (!row) return null;
  return {
    id: row.id,
    networkId: plainIdOf(row.network_id) ?? (row.direction === 'outbound' ? networkIdOf(row.id) : null),
    direction: row.direction,
    type: row.type,
    status: row.status,
    chatJid: row.chat_jid,
    senderJid: row.sender_jid,
    content: row.content,
    mediaId: row.media_id,
    isForwarded: row.is_forwarded,
    forwardingScore: row.forwarding_score,
    sentAt: row.sent_at,
    createdAt: row.created_at,
    deletedAt: row.deleted_at,
  };
}

const COLUMNS = `id, network_id, direction, type, status, ${CHAT_JID_SQL}, sender_jid, content, media_id, is_forwarded,
  forwarding_score, sent_at, created_at, deleted_at`;

interface Row {
  id: string;
  network_id: string | null;
  direction: 'inbound' | 'outbound';
  type: string;
  status: string;
  chat_jid: string;
  sender_jid: string | null;
  content: Record<string, unknown>;
  media_id: string | null;
  is_forwarded: boolean;
  forwarding_score: number;
  sent_at: Date | null;
  created_at: Date;
  deleted_at: Date | null;
}
