import { isGroupJid, phoneOf } from '@posthorn/contract/jid.ts';
import { CONVERSATION_WINDOW_S } from '@posthorn/contract/limits.ts';
import type { Chat } from '@posthorn/contract/messaging/chats.ts';
import { lastWrittenSql } from '../lids/chat-sql.ts';
import { nameSql } from './names.ts';

/** A row of {@link SHOWN_CHATS}. */
export interface ChatRow {
  chat_jid: string;
  name: string;
  unread_count: number;
  marked_unread: boolean;
  archived: boolean;
  pinned: boolean;
  muted_until: number | null;
  active_at: Date;
  updated_at: Date;
  labels: string[] | null;
  message_id: string | null;
  direction: 'inbound' | 'outbound' | null;
  message_type: string | null;
  preview: string | null;
  last_message_at: Date | null;
  /** Where the network waits for people: when somebody last wrote, or null. */
  last_received_at: Date | null;
}

const PREVIEW_CHARS = 100;

/**
 * `chats` and `contacts` sort their addresses by "C", and other tables do not: compared with a column of these as it is, an address
 * is looked for by no index of theirs.
 */
const JID = 'page.chat_jid COLLATE "default"';

/** The shown columns of the chats of a query named `page`, which has rows of `chats`. Reads by primary keys alone. */
export const SHOWN_CHATS = `
SELECT page.chat_jid, ${nameSql('page')} AS name, page.unread_count, page.marked_unread, page.archived, page.pinned, page.muted_until,
  page.active_at, page.updated_at, page.last_message_at,
  message.id AS message_id, message.direction, message.type AS message_type,
  CASE WHEN message.deleted_at IS NULL
    THEN left(coalesce(message.content->>'text', message.content->>'caption', message.content->>'question',
                       message.content->>'body_text', ''), ${PREVIEW_CHARS})
    ELSE '' END AS preview,
  (SELECT array_agg(link.label_id ORDER BY length(link.label_id), link.label_id) FROM label_links link
   WHERE link.instance_id = page.instance_id AND link.chat_jid = ${JID} AND link.message_key = ''
     AND link.associated) AS labels,
  CASE WHEN EXISTS (SELECT FROM instances i JOIN network_drivers d ON d.name = i.driver
                    WHERE i.id = page.instance_id AND 'unprompted' = ANY (d.lacks))
    THEN ${lastWrittenSql('page.instance_id', JID)} END AS last_received_at
FROM page
LEFT JOIN chat_groups circle ON circle.instance_id = page.instance_id AND circle.jid = ${JID}
LEFT JOIN contacts person ON person.instance_id = page.instance_id AND person.jid = page.chat_jid
LEFT JOIN messages message ON message.id = page.last_message_id AND message.instance_id = page.instance_id`;

export function chatView(row: ChatRow, now: Date): Chat {
  const isMuted = row.muted_until !== null && (row.muted_until === 0 || row.muted_until > now.getTime());
  return {
    chat_jid: row.chat_jid,
    type: isGroupJid(row.chat_jid) ? 'group' : 'user',
    phone: phoneOf(row.chat_jid),
    name: row.name,
    unread_count: row.unread_count,
    marked_unread: row.marked_unread,
    archived: row.archived,
    pinned: row.pinned,
    muted: isMuted,
    muted_until: isMuted && row.muted_until ? new Date(row.muted_until).toISOString() : null,
    window_until: windowOf(row, now),
    labels: row.labels ?? [],
    last_message: lastMessageOf(row),
    updated_at: row.updated_at.toISOString(),
  };
}

/** Until when anything may be sent, where the network waits for people to write first. */
function windowOf({ last_received_at: at }: ChatRow, now: Date): string | null {
  const untilMs = at === null ? 0 : at.getTime() + CONVERSATION_WINDOW_S * 1000;
  return untilMs > now.getTime() ? new Date(untilMs).toISOString() : null;
}

function lastMessageOf(row: ChatRow): Chat['last_message'] {
  if (!row.message_id || !row.last_message_at) return null;
  return {
    message_id: row.message_id,
    direction: row.direction!,
    type: row.message_type as NonNullable<Chat['last_message']>['type'],
    preview: row.preview ?? '',
    timestamp: row.last_message_at.toISOString(),
  };
}
