/** Stores labels. Every function is called under `lockDeviceState`, and by the API under {@link lockLabels}. */
import { lockDeviceState } from '../instances/device-state.ts';
import { holdAddresses } from '../instances/lock-leases.ts';
import type { Sql } from '../platform/database/db.ts';

export interface LabelScope {
  companyId: number;
  instanceId: string;
}

export interface LabelState {
  labelId: string;
  name: string;
  color: number;
  deleted: boolean;
}

/** A chat, or a message of one, that bears a label. */
export interface LabelBearer {
  labelId: string;
  chat: string;
  /** The message_id of one that we know, else the network's id; empty for the chat itself. */
  messageKey: string;
  /** The network's id of a message that we know. */
  networkId?: string | null;
}

/** When it was so: by the account's revision; `isTold` when the events tell of it now. */
export interface Revised {
  revision: number;
  now: Date;
  isTold: boolean;
}

/**
 * For the API: until the end of the transaction nobody else changes the labels of this instance, and no chat that bears one
 * moves, as while recorders write.
 */
export async function lockLabels(sql: Sql, instanceId: string): Promise<void> {
  await holdAddresses(sql, instanceId);
  await lockDeviceState(sql, instanceId);
}

/** Keeps what the highest revision said. A deletion takes off what was put on before it. */
export async function storeLabel(
  sql: Sql,
  { companyId, instanceId }: LabelScope,
  label: LabelState,
  { revision, now, isTold }: Revised,
): Promise<void> {
  await sql.query(
    `INSERT INTO labels AS l (instance_id, company_id, label_id, name, color, deleted, revision, deleted_revision,
                              told_revision, told_exists, updated_at)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)
     ON CONFLICT (instance_id, label_id) DO UPDATE SET
       name = CASE WHEN excluded.revision > l.revision THEN excluded.name ELSE l.name END,
       color = CASE WHEN excluded.revision > l.revision THEN excluded.color ELSE l.color END,
       deleted = CASE WHEN excluded.revision > l.revision THEN excluded.deleted ELSE l.deleted END,
       reserved_until = CASE WHEN excluded.revision > l.revision THEN NULL ELSE l.reserved_until END,
       revision = greatest(l.revision, excluded.revision),
       deleted_revision = greatest(l.deleted_revision, excluded.deleted_revision),
       told_exists = CASE WHEN excluded.told_revision > l.told_revision THEN excluded.told_exists
                     ELSE l.told_exists END,
       told_revision = greatest(l.told_revision, excluded.told_revision),
       updated_at = excluded.updated_at`,
    [
      instanceId,
      companyId,
      label.labelId,
      label.name,
      label.color,
      label.deleted,
      revision,
      label.deleted ? revision : 0,
      isTold ? revision : 0,
      isTold && !label.deleted,
      now,
    ],
  );
  if (!label.deleted) return;
  await sql.query(
    `UPDATE label_links SET associated = false, revision = $3 WHERE instance_id = $1 AND label_id = $2 AND revision < $3`,
    [instanceId, label.labelId, revision],
  );
  if (!isTold) return;
  await sql.query(
    `UPDATE label_links SET told_associated = false
     WHERE instance_id = $1 AND label_id = $2 AND told_revision < $3 AND told_associated`,
    [instanceId, label.labelId, revision],
  );
}

/** The same of a label on a chat or message; one from before the label's deletion changes nothing. */
export async function storeLink(
  sql: Sql,
  { companyId, instanceId }: LabelScope,
  { labelId, chat, messageKey }: LabelBearer,
  associated: boolean,
  { revision, now, isTold }: Revised,
): Promise<void> {
  await sql.query(
    `INSERT INTO label_links AS k (instance_id, company_id, label_id, chat_jid, message_key, associated, revision,
                                   told_revision, told_associated, updated_at)
     SELECT $1, $2, $3, $4, $5,
            $6 AND $7 > coalesce((SELECT deleted_revision FROM labels WHERE instance_id = $1 AND label_id = $3), 0),
            $7, $8, $9, $10
     ON CONFLICT (instance_id, label_id, chat_jid, message_key) DO UPDATE SET
       associated = CASE WHEN excluded.revision > k.revision THEN excluded.associated ELSE k.associated END,
       revision = greatest(k.revision, excluded.revision),
       told_associated = CASE WHEN excluded.told_revision > k.told_revision THEN excluded.told_associated
                         ELSE k.told_associated END,
       told_revision = greatest(k.told_revision, excluded.told_revision),
       updated_at = excluded.updated_at`,
    [
      instanceId,
      companyId,
      labelId,
      chat,
      messageKey,
      associated,
      revision,
      isTold ? revision : 0,
      isTold && associated,
      now,
    ],
  );
}

/**
 * Files a link under the message_id of its message. A phone tells its labels before its history: a link that was filed under
 * the network's id goes on as that of the message.
 */
export async function fileByMessageId(
  sql: Sql,
  { instanceId }: LabelScope,
  { labelId, chat, messageKey, networkId }: LabelBearer,
): Promise<void> {
  if (!networkId) return;
  await sql.query(
    `UPDATE label_links SET message_key = $4
     WHERE instance_id = $1 AND label_id = $2 AND chat_jid = $3 AND message_key = $5 AND NOT EXISTS (
       SELECT FROM label_links WHERE instance_id = $1 AND label_id = $2 AND chat_jid = $3 AND message_key = $4)`,
    [instanceId, labelId, chat, messageKey, networkId],
  );
}
