import { buildEvent, subjectOf } from '../events/build-event.ts';
import type { NewEvent } from '../events/insert-events.ts';
import type { Sql } from '../platform/database/db.ts';
import { newId } from '../platform/ids.ts';
import { statusKey } from './find-status.ts';

/** The fields of an outbound message that the feed takes. */
export interface PostedMessage {
  id: string;
  company_id: number;
  instance_id: string;
  type: string;
  chat_jid: string;
  media_id: string | null;
  trace_id: string | null;
  content: Record<string, unknown> | null;
}

/** An outbound status, or an outbound answer to one: either is a row of the feed (STA-5, STA-6). */
export interface PostedStory {
  message: PostedMessage;
  type: 'text' | 'image' | 'video' | 'audio';
  words: string;
  at: Date;
  /** How the feed names it: by the message's id, one from another device by the network's. */
  statusId: string;
  /** Set for an answer: whose status it was, and its id. */
  answered: { statusId: string; phone: string } | null;
}

/** The story that a message is, or null: nearly every message is none. */
export function storyOf(message: PostedMessage, at: Date, statusId = message.id): PostedStory | null {
  const { content, type } = message;
  if (!content) return null;
  const words = wordsOf(content);
  if (type.startsWith('status_')) {
    const posted = type.slice('status_'.length) as PostedStory['type'];
    return { message, type: posted, words, at, statusId, answered: null };
  }
  const reply = content.status_reply as { status_message_id: string; phone: string } | undefined;
  if (!reply) return null;
  // A sticker is a picture: the feed has no type of its own for it (STA-7).
  const shown = type === 'sticker' ? 'image' : (type as PostedStory['type']);
  return {
    message,
    type: shown,
    words,
    at,
    statusId,
    answered: { statusId: reply.status_message_id, phone: reply.phone },
  };
}

/** The words that the feed shows of a content. */
export function wordsOf({ text, caption }: Record<string, unknown>): string {
  return String(text ?? caption ?? '');
}

/** The message behind a row of the feed has new words; null: it was deleted, and leaves the feed. */
export async function changePosted(
  sql: Sql,
  message: { id: string; instance_id: string; network_id: string | null },
  words: string | null,
): Promise<void> {
  const { id, instance_id, network_id } = message;
  const keys = network_id === null ? [id] : [id, statusKey(network_id)];
  const which = `instance_id = $1 AND status_id = ANY ($2) AND direction = 'outbound'`;
  if (words === null) await sql.query(`DELETE FROM status_feed WHERE ${which}`, [instance_id, keys]);
  else await sql.query(`UPDATE status_feed SET content = $3 WHERE ${which}`, [instance_id, keys, words]);
}

/**
 * Writes the feed's rows and gives the events of answers: status.reply_sent (STA-12). Part
 * of the caller's transaction.
 */
export async function recordPosted(
  sql: Sql,
  stories: readonly PostedStory[],
  now: Date,
): Promise<NewEvent[]> {
  const rows = stories.map(({ message, type, words, at, statusId }) => ({
    id: newId(),
    company_id: message.company_id,
    instance_id: message.instance_id,
    status_id: statusId,
    type,
    content: words,
    media_id: message.media_id,
    posted_at: at,
  }));
  await sql.query({ name: 'status-feed-posted', text: INSERT, values: [JSON.stringify(rows)] });
  return stories.flatMap((story) => (story.answered ? [replySent(story, story.answered, now)] : []));
}

function replySent(
  { message, at }: PostedStory,
  answered: { statusId: string; phone: string },
  now: Date,
): NewEvent {
  const data = {
    chat: message.chat_jid,
    phone: answered.phone,
    status_message_id: answered.statusId,
    type: message.type,
    timestamp: Math.floor(at.getTime() / 1000),
  };
  return buildEvent(subjectOf(message), { type: 'status.reply_sent', data, now });
}

const INSERT = `
INSERT INTO status_feed (id, company_id, instance_id, direction, status_id, author_jid, type, content, media_id,
                         posted_at)
SELECT id, company_id, instance_id, 'outbound', status_id, '', type, content, media_id, posted_at
FROM json_to_recordset($1) AS r (id uuid, company_id integer, instance_id uuid, status_id text, type text,
                                 content text, media_id uuid, posted_at timestamptz)
ON CONFLICT (instance_id, status_id) DO NOTHING`;
