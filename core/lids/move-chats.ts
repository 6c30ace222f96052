import type { Jid } from '@posthorn/contract/jid.ts';
import type { Sql } from '../platform/database/db.ts';

/** A chat that stood under an anonymous id, and whose it is. */
export interface MovedChat {
  lid: Jid;
  jid: Jid;
}

/**
 * Makes one of two chats with the same person: what the devices say of each, its unread count, its notes, its labels
 * and the contact go to the phone's address. Where both say something, the higher revision counts.
 */
export async function moveChats(sql: Sql, instanceId: string, pairs: readonly MovedChat[]): Promise<void> {
  const found = await sql.query<MovedChat>(FIND, [JSON.stringify(pairs), instanceId]);
  // One by one: two anonymous ids may be those of one phone.
  for (const { lid, jid } of found.rows)
    for (const statement of [MOVE_CHAT, MOVE_CONTACT, MOVE_NOTES, MOVE_LABELS])
      await sql.query(statement, [instanceId, lid, jid]);
}

/** In the order in which all recorders touch chats. */
const FIND = `
SELECT r.lid, r.jid FROM json_to_recordset($1) AS r (lid text, jid text)
WHERE EXISTS (SELECT 1 FROM chats c WHERE c.instance_id = $2 AND c.chat_jid = r.lid)
  OR EXISTS (SELECT 1 FROM contacts p WHERE p.instance_id = $2 AND p.jid = r.lid)
  OR EXISTS (SELECT 1 FROM label_links k WHERE k.instance_id = $2 AND k.chat_jid = r.lid AND k.associated
             AND k.message_key = '')
  OR EXISTS (SELECT 1 FROM chat_notes n WHERE n.instance_id = $2 AND n.chat_jid = r.lid)
ORDER BY r.jid COLLATE "C"`;

const MOVE_NOTES = 'UPDATE chat_notes SET chat_jid = $3 WHERE instance_id = $1 AND chat_jid = $2';

const MOVE_LABELS = `
WITH moved AS (DELETE FROM label_links WHERE instance_id = $1 AND chat_jid = $2 RETURNING *)
INSERT INTO label_links AS k (instance_id, company_id, label_id, chat_jid, message_key, associated, revision,
                              told_revision, told_associated, updated_at)
SELECT instance_id, company_id, label_id, $3, message_key, associated, revision, told_revision, told_associated, updated_at
FROM moved
ON CONFLICT (instance_id, label_id, chat_jid, message_key) DO UPDATE SET
  associated = excluded.associated, revision = excluded.revision, told_revision = excluded.told_revision,
  told_associated = excluded.told_associated, updated_at = excluded.updated_at
WHERE k.revision < excluded.revision`;

const MOVE_CONTACT = `
WITH moved AS (DELETE FROM contacts WHERE instance_id = $1 AND jid = $2 RETURNING *)
INSERT INTO contacts AS p (instance_id, company_id, jid, name, push_name, blocked, name_revision, blocked_revision,
                           updated_at)
SELECT instance_id, company_id, $3, name, push_name, blocked, name_revision, blocked_revision, updated_at FROM moved
ON CONFLICT (instance_id, jid) DO UPDATE SET
  name = CASE WHEN excluded.name_revision > p.name_revision THEN excluded.name ELSE p.name END,
  name_revision = greatest(p.name_revision, excluded.name_revision),
  push_name = CASE WHEN excluded.push_name <> '' THEN excluded.push_name ELSE p.push_name END,
  blocked = CASE WHEN excluded.blocked_revision > p.blocked_revision THEN excluded.blocked ELSE p.blocked END,
  blocked_revision = greatest(p.blocked_revision, excluded.blocked_revision),
  updated_at = greatest(p.updated_at, excluded.updated_at)`;

const MOVE_CHAT = `
WITH moved AS (DELETE FROM chats WHERE instance_id = $1 AND chat_jid = $2 RETURNING *)
INSERT INTO chats AS c (instance_id, company_id, chat_jid, name, unread_count, marked_unread, archived, pinned,
                        muted_until, last_message_id, last_message_at, active_at, read_revision, archived_revision,
                        pinned_revision, muted_revision, read_echo_revision, has_history, updated_at)
SELECT instance_id, company_id, $3, name, unread_count, marked_unread, archived, pinned, muted_until, last_message_id,
       last_message_at, active_at, read_revision, archived_revision, pinned_revision, muted_revision,
       read_echo_revision, has_history, updated_at
FROM moved
ON CONFLICT (instance_id, chat_jid) DO UPDATE SET
  unread_count = c.unread_count + excluded.unread_count,
  marked_unread = CASE WHEN excluded.read_revision > c.read_revision THEN excluded.marked_unread ELSE c.marked_unread END,
  archived = CASE WHEN excluded.archived_revision > c.archived_revision THEN excluded.archived ELSE c.archived END,
  pinned = CASE WHEN excluded.pinned_revision > c.pinned_revision THEN excluded.pinned ELSE c.pinned END,
  muted_until = CASE WHEN excluded.muted_revision > c.muted_revision THEN excluded.muted_until ELSE c.muted_until END,
  last_message_id = CASE WHEN c.last_message_at >= excluded.last_message_at THEN c.last_message_id
                    ELSE coalesce(excluded.last_message_id, c.last_message_id) END,
  last_message_at = greatest(c.last_message_at, excluded.last_message_at),
  active_at = greatest(c.active_at, excluded.active_at),
  read_revision = greatest(c.read_revision, excluded.read_revision),
  archived_revision = greatest(c.archived_revision, excluded.archived_revision),
  pinned_revision = greatest(c.pinned_revision, excluded.pinned_revision),
  muted_revision = greatest(c.muted_revision, excluded.muted_revision),
  read_echo_revision = greatest(c.read_echo_revision, excluded.read_echo_revision),
  has_history = c.has_history OR excluded.has_history,
  updated_at = greatest(c.updated_at, excluded.updated_at)`;
