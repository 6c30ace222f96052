import { phoneOf } from '@posthorn/contract/jid.ts';
import { INBOUND_FAMILIES } from '@posthorn/contract/message-types.ts';
import { forwardedContent } from '../content/forward.ts';
import { buildEvent, subjectOf } from '../events/build-event.ts';
import type { NewEvent } from '../events/insert-events.ts';
import { CHAT_JID_SQL } from '../lids/chat-sql.ts';
import type { Sql } from '../platform/database/db.ts';
import { networkIdOf, plainIdOf } from '../platform/ids.ts';
import { changePosted, wordsOf } from '../status/record-posted.ts';
import { outboundFamily } from './message-events.ts';

/** A message as the recorders of changes read and lock it, whichever way it went. */
export interface ChangedMessage {
  id: string;
  company_id: number;
  instance_id: string;
  direction: 'inbound' | 'outbound';
  type: string;
  chat_jid: string;
  sender_jid: string | null;
  content: Record<string, unknown>;
  media_id: string | null;
  is_forwarded: boolean;
  forwarding_score: number;
  trace_id: string | null;
  network_id: string | null;
  edited_at: Date | null;
  deleted_at: Date | null;
  /** The phone of a sender who has an anonymous id; null where it is not known, or not needed. */
  lid_phone: string | null;
}

export const CHANGED_COLUMNS = `id, company_id, instance_id, direction, type, ${CHAT_JID_SQL}, sender_jid, content, media_id,
  is_forwarded, forwarding_score, trace_id, network_id, edited_at, deleted_at,
  CASE WHEN sender_jid LIKE '%@lid' OR sender_jid LIKE '%@bsuid' THEN (SELECT l.phone FROM lids l
    WHERE l.instance_id = messages.instance_id AND l.lid = messages.sender_jid AND l.phone NOT LIKE '%.%') END AS lid_phone`;

const FAMILIES: ReadonlySet<string> = new Set(INBOUND_FAMILIES);

/** The fields that events about a message begin with: who wrote it, ours or theirs (EVT-5). */
export function changedFamily(message: ChangedMessage, at: Date): Record<string, unknown> {
  const data = outboundFamily(message, at);
  if (message.direction === 'outbound') return data;
  const from = message.sender_jid ?? message.chat_jid;
  return { ...data, from, phone: message.lid_phone ?? phoneOf(from), is_from_me: false };
}

/** Maximum size of a received content as JSON. The message, its events and their deliveries carry it. */
export const CONTENT_MAX_BYTES = 256 * 1024;

/**
 * New words for a message that is there; gives message.edited. A deleted one stays deleted, one that would grow with
 * every edit stays as it is, and words that came late replace no newer ones.
 */
export async function applyEdit(
  sql: Sql,
  message: ChangedMessage,
  change: { content: Record<string, unknown>; at: Date },
  now: Date,
): Promise<NewEvent[]> {
  if (message.deleted_at || isOvertaken(message, change.at)) return [];
  // They belong to the old words: whom the new ones mention comes with them.
  const { mentions: _, preview: __, ...kept } = message.content;
  const content = { ...kept, ...change.content };
  if (Buffer.byteLength(JSON.stringify(content)) > CONTENT_MAX_BYTES) return [];
  await sql.query('UPDATE messages SET content = $2, edited_at = $3 WHERE id = $1', [
    message.id,
    JSON.stringify(content),
    change.at,
  ]);
  if (isStatusReply(message)) await changePosted(sql, message, wordsOf(content));
  await changeForwards(sql, message, content);
  return [eventOf(message, 'message.edited', { ...changedFamily(message, change.at), content }, now)];
}

/** Forwards that wait to be sent: the network copies what the message says by then. One that is just ending stays as it is. */
async function changeForwards(
  sql: Sql,
  { id, instance_id, chat_jid, network_id }: ChangedMessage,
  content: Record<string, unknown>,
): Promise<void> {
  const source = { id: plainIdOf(network_id) ?? networkIdOf(id), chat: chat_jid };
  const [of, words] = [JSON.stringify(source), JSON.stringify(forwardedContent(content))];
  await sql.query(CHANGE_FORWARDS, [instance_id, of, words]);
}

const CHANGE_FORWARDS = `
UPDATE messages SET content = $3 WHERE id = ANY (ARRAY(
  SELECT m.id FROM outbox o JOIN messages m ON m.id = o.message_id
  WHERE o.instance_id = $1 AND o.operation = 'forward' AND o.payload -> 'source' @> $2::jsonb
  FOR NO KEY UPDATE OF m SKIP LOCKED
))`;

/** Edits of received messages all have the network's times; those of our own may have ours, which it does not share. */
function isOvertaken({ direction, edited_at: before }: ChangedMessage, at: Date): boolean {
  return direction === 'inbound' && before !== null && at < before;
}

/** Deleted for everyone: what it said is forgotten here too. Gives message.deleted and `<family>.deleted`. */
export async function applyDelete(
  sql: Sql,
  message: ChangedMessage,
  at: Date,
  now: Date,
): Promise<NewEvent[]> {
  if (message.deleted_at) return [];
  await sql.query(`UPDATE messages SET content = '{}', deleted_at = $2 WHERE id = $1`, [message.id, at]);
  if (isStatusReply(message)) await changePosted(sql, message, null);
  const data = changedFamily(message, at);
  const events = [eventOf(message, 'message.deleted', data, now)];
  if (FAMILIES.has(message.type)) events.push(eventOf(message, `${message.type}.deleted`, data, now));
  return events;
}

/** An answer to a status, which stands in the feed too (STA-5). */
function isStatusReply({ direction, content }: ChangedMessage): boolean {
  return direction === 'outbound' && content.status_reply !== undefined;
}

export function eventOf(
  message: ChangedMessage,
  type: string,
  data: Record<string, unknown>,
  now: Date,
): NewEvent {
  return buildEvent(subjectOf(message), { type, data, now });
}
