import type { Jid } from '@posthorn/contract/jid.ts';
import { v7 } from 'uuid';
import { type ChatTraffic, recordChatTraffic } from '../chats/record-traffic.ts';
import { buildEvent } from '../events/build-event.ts';
import { type RecorderDeps, type Recording, recordUnderLease } from '../instances/create-recorder.ts';
import type { Lease } from '../instances/lock-leases.ts';
import type { HistoryBatch, HistoryChat } from '../network/facts.ts';
import type { Sql } from '../platform/database/db.ts';
import { messageIdOf } from '../platform/ids.ts';
import { inboundFamily, ownIds } from './inbound-content.ts';

export interface HistoryScope {
  companyId: number;
  instanceId: string;
  lease: Lease;
}

/** A message of before the pairing. `status` is how far one of the account's own got. */
export interface PastMessage {
  networkId: string;
  chat: Jid;
  from: Jid;
  pushName: string;
  type: string;
  content: Record<string, unknown>;
  quotedId?: string | undefined;
  fromMe: boolean;
  status?: 'sent' | 'delivered' | 'read' | 'played' | undefined;
  incomplete?: string | undefined;
  forwardingScore?: number | undefined;
  at: Date;
}

/** A part of a history; the last one has `isLast`. */
export interface PastBatch {
  chats: readonly HistoryChat[];
  contacts: HistoryBatch['contacts'];
  /** Oldest first within a chat. */
  messages: readonly PastMessage[];
  /** Sorts messages of one millisecond: the position of the part in its history, and of the first one in the part. */
  position: { part: number; message: number };
  isLast: boolean;
}

/**
 * Stores what was before the pairing: messages with their times and without events of their own, chats and
 * contacts. Known messages stay as they are, so that a part that comes twice counts once. After the last part
 * history.synced tells how much it was. Throws LeaseLost.
 */
export async function recordPastBatch(
  deps: RecorderDeps,
  scope: HistoryScope,
  batch: PastBatch,
): Promise<void> {
  await recordUnderLease(deps, scope.lease, async ({ client, now, tell }) => {
    await lockChats(client, scope, batch);
    const messages = await insertPast(client, scope, batch, now);
    const chats = await insertChats(client, scope, batch.chats, now);
    const contacts = await insertContacts(client, scope, batch.contacts, now);
    await countBatch({ client, now, tell }, scope, { chats, contacts, messages }, batch.isLast);
  });
}

/** In the order of all recorders: two statements below touch chats, and in between another one could hold some. */
async function lockChats(sql: Sql, { instanceId }: HistoryScope, batch: PastBatch): Promise<void> {
  const chats = new Set([...batch.chats, ...batch.messages].map(({ chat }) => chat));
  await sql.query(
    'SELECT 1 FROM chats WHERE instance_id = $1 AND chat_jid = ANY ($2) ORDER BY chat_jid FOR NO KEY UPDATE',
    [instanceId, [...chats]],
  );
}

/** Ids are made of the times, so that lists, which go by the ids, show the messages where they belong. */
async function insertPast(
  sql: Sql,
  { companyId, instanceId }: HistoryScope,
  { messages: past, position }: PastBatch,
  now: Date,
): Promise<number> {
  if (past.length === 0) return 0;
  const rows = past.map((message, nth) => {
    const type = inboundFamily(message.type);
    return {
      ...message,
      // It may be one that was sent from here.
      sentAs: message.fromMe ? messageIdOf(message.networkId) : null,
      id: v7({ msecs: message.at.getTime(), seq: sequence(position.part, position.message + nth) }),
      direction: message.fromMe ? 'outbound' : 'inbound',
      status: message.fromMe ? (message.status ?? 'sent') : 'received',
      sender: message.fromMe ? null : message.from,
      type,
      content: ownIds(message.content),
    };
  });
  const stored = await sql.query<{ id: string }>(INSERT_PAST, [companyId, instanceId, JSON.stringify(rows)]);
  const fresh = new Set(stored.rows.map((row) => row.id));
  const traffic = rows
    .filter(({ id }) => fresh.has(id))
    .map((row): ChatTraffic => {
      const { id: messageId, chat: chatJid, type, at } = row;
      return { companyId, instanceId, chatJid, messageId, type, at };
    });
  await recordChatTraffic(sql, traffic, now);
  return fresh.size;
}

/** The 32 bits after the time in an id: they keep the order of messages of one millisecond, across parts. */
function sequence(part: number, message: number): number {
  return (Math.min(part, 0xffff) << 16) | Math.min(message, 0xffff);
}

const INSERT_PAST = `
INSERT INTO messages (id, company_id, instance_id, direction, type, chat_jid, sender_jid, status, content, network_id,
                      quoted_id, push_name, is_forwarded, forwarding_score, incomplete_reason, created_at, sent_at)
SELECT id, $1, $2, direction, type, chat, sender, status, content, "networkId", "quotedId", "pushName",
       "forwardingScore" IS NOT NULL, coalesce("forwardingScore", 0), incomplete, at,
       CASE WHEN direction = 'outbound' THEN at END
FROM json_to_recordset($3) AS r ("sentAs" uuid, id uuid, direction text, type text, chat text, sender text, status text, content jsonb,
  "networkId" text, "quotedId" text, "pushName" text, "forwardingScore" integer, incomplete text, at timestamptz)
WHERE NOT EXISTS (SELECT 1 FROM messages m WHERE m.id = "sentAs" AND m.instance_id = $2)
ON CONFLICT DO NOTHING
RETURNING id`;

/** The phone's state of a chat counts once, at the pairing; later arrivals are counted from there. */
async function insertChats(
  sql: Sql,
  { companyId, instanceId }: HistoryScope,
  chats: readonly HistoryChat[],
  now: Date,
): Promise<number> {
  const done = await sql.query(
    `INSERT INTO chats AS c (instance_id, company_id, chat_jid, name, unread_count, archived, pinned, muted_until,
                             has_history, active_at, updated_at)
     SELECT $1, $2, chat, name, "unreadCount", archived, pinned, "mutedUntil", true, $4, $4
     FROM json_to_recordset($3) AS w (chat text, name text, "unreadCount" integer, archived boolean, pinned boolean,
       "mutedUntil" bigint)
     WHERE EXISTS (SELECT 1 FROM instances WHERE id = $1)
     ORDER BY chat COLLATE "C"
     ON CONFLICT (instance_id, chat_jid) DO UPDATE SET
       name = CASE WHEN excluded.name <> '' THEN excluded.name ELSE c.name END,
       unread_count = excluded.unread_count, has_history = true,
       archived = CASE WHEN c.archived_revision > 0 THEN c.archived ELSE excluded.archived END,
       pinned = CASE WHEN c.pinned_revision > 0 THEN c.pinned ELSE excluded.pinned END,
       muted_until = CASE WHEN c.muted_revision > 0 THEN c.muted_until ELSE excluded.muted_until END,
       updated_at = excluded.updated_at
     WHERE NOT c.has_history`,
    [instanceId, companyId, JSON.stringify(onceEach(chats, ({ chat }) => chat)), now],
  );
  return done.rowCount ?? 0;
}

async function insertContacts(
  sql: Sql,
  { companyId, instanceId }: HistoryScope,
  contacts: PastBatch['contacts'],
  now: Date,
): Promise<number> {
  const done = await sql.query(
    `INSERT INTO contacts AS c (instance_id, company_id, jid, name, push_name, updated_at)
     SELECT $1, $2, jid, name, "pushName", $4
     FROM json_to_recordset($3) AS w (jid text, name text, "pushName" text)
     WHERE EXISTS (SELECT 1 FROM instances WHERE id = $1)
     ORDER BY jid COLLATE "C"
     ON CONFLICT (instance_id, jid) DO UPDATE SET
       name = CASE WHEN c.name_revision > 0 THEN c.name ELSE excluded.name END,
       push_name = CASE WHEN excluded.push_name <> '' THEN excluded.push_name ELSE c.push_name END,
       updated_at = excluded.updated_at
     WHERE (c.name_revision = 0 AND c.name <> excluded.name)
       OR (excluded.push_name <> '' AND c.push_name <> excluded.push_name)`,
    [instanceId, companyId, JSON.stringify(onceEach(contacts, ({ jid }) => jid)), now],
  );
  return done.rowCount ?? 0;
}

/** A statement may touch a row once. */
function onceEach<T>(items: readonly T[], keyOf: (item: T) => string): T[] {
  return [...new Map(items.map((item) => [keyOf(item), item])).values()];
}

async function countBatch(
  { client, now, tell }: Recording,
  { companyId, instanceId }: HistoryScope,
  fresh: { chats: number; contacts: number; messages: number },
  isLast: boolean,
): Promise<void> {
  const counted = await client.query<{ chats: number; contacts: number; messages: number }>(
    `UPDATE device_syncs SET chats = chats + $2, contacts = contacts + $3, messages = messages + $4, updated_at = $5::timestamptz,
       finished_at = CASE WHEN $6 THEN $5::timestamptz END
     WHERE instance_id = $1 AND finished_at IS NULL RETURNING chats, contacts, messages`,
    [instanceId, fresh.chats, fresh.contacts, fresh.messages, now, isLast],
  );
  const [counts] = counted.rows;
  if (!isLast || !counts) return;
  const data = { ...counts, timestamp: now.toISOString() };
  await tell([buildEvent({ companyId, instanceId }, { type: 'history.synced', data, now })]);
}
