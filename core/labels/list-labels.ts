import { apiError } from '@posthorn/contract/api-error.ts';
import type { Label } from '@posthorn/contract/messaging/labels.ts';
import { requireInstance } from '../access/instance-scope.ts';
import type { Principal } from '../access/principal.ts';
import type { Db, Sql } from '../platform/database/db.ts';

/** The labels of an instance, by their slots (CHT-1). */
export async function listLabels(
  deps: { db: Db },
  input: { principal: Principal; instanceId: string },
): Promise<{ labels: Label[] }> {
  const { instanceId } = await requireInstance(deps.db, input.principal, input.instanceId);
  const found = await deps.db.query<Label>(
    `SELECT label_id, name, color FROM labels WHERE instance_id = $1 AND NOT deleted
     ORDER BY length(label_id), label_id`,
    [instanceId],
  );
  return { labels: found.rows };
}

/** The label in this slot. Throws 404 NOT_FOUND. */
export async function requireLabel(sql: Sql, instanceId: string, labelId: string): Promise<Label> {
  const found = await sql.query<Label>(
    'SELECT label_id, name, color FROM labels WHERE instance_id = $1 AND label_id = $2 AND NOT deleted',
    [instanceId, labelId],
  );
  const label = found.rows[0];
  if (!label) throw apiError('NOT_FOUND');
  return label;
}

/** The chats that bear a label, each once. Throws 404 NOT_FOUND. */
export async function listLabelChats(
  deps: { db: Db },
  input: { principal: Principal; instanceId: string; labelId: string },
): Promise<{ label_id: string; chats: string[] }> {
  const { instanceId } = await requireInstance(deps.db, input.principal, input.instanceId);
  await requireLabel(deps.db, instanceId, input.labelId);
  const found = await deps.db.query<{ chat_jid: string }>(
    `SELECT chat_jid FROM label_links
     WHERE instance_id = $1 AND label_id = $2 AND message_key = '' AND associated ORDER BY chat_jid`,
    [instanceId, input.labelId],
  );
  return { label_id: input.labelId, chats: found.rows.map((row) => row.chat_jid) };
}
