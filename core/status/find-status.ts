import { apiError } from '@posthorn/contract/api-error.ts';
import type { StatusItem } from '@posthorn/contract/messaging/status.ts';
import { requireInstance } from '../access/instance-scope.ts';
import type { Principal } from '../access/principal.ts';
import type { KnownStatus } from '../content/rule.ts';
import { knownJid, readPhones } from '../lids/read-phones.ts';
import type { Db, Sql } from '../platform/database/db.ts';
import { oneRow } from '../platform/database/one-row.ts';
import { isUuid, networkIdOf, sentIdOf } from '../platform/ids.ts';

/** One row of the feed. */
export interface StatusRow {
  status_id: string;
  direction: 'inbound' | 'outbound';
  author_jid: string;
  type: StatusItem['type'];
  content: string;
  media_id: string | null;
  posted_at: Date;
  /** In a list: the page has no room for its content. */
  is_omitted?: boolean;
}

export const STATUS_COLUMNS = 'status_id, direction, author_jid, type, content, media_id, posted_at';

/** How a status is kept: one of ours by its UUID, another by the network's id, whichever was given. */
export function statusKey(ref: string): string {
  if (isUuid(ref)) return ref.toLowerCase();
  const upper = ref.toUpperCase();
  return sentIdOf(upper) ?? upper;
}

/** The same for a status that somebody asks for: one from another device may be named by its message as well. */
export async function findStatusKey(sql: Sql, instanceId: string, ref: string): Promise<string> {
  const key = statusKey(ref);
  if (!isUuid(key)) return key;
  const found = await sql.query<{ network_id: string }>(
    'SELECT network_id FROM messages WHERE id = $1 AND instance_id = $2 AND network_id IS NOT NULL',
    [key, instanceId],
  );
  const [message] = found.rows;
  return message ? statusKey(message.network_id) : key;
}

/** Rows of the feed as they are shown. */
export async function statusItems(
  sql: Sql,
  instanceId: string,
  rows: readonly StatusRow[],
): Promise<StatusItem[]> {
  const phoneOf = await readPhones(
    sql,
    rows.map((row) => ({ instanceId, jid: row.author_jid })),
  );
  return rows.map((row) => statusItem(row, phoneOf({ instanceId, jid: row.author_jid })));
}

function statusItem(row: StatusRow, phone: string): StatusItem {
  return {
    status_message_id: row.status_id,
    direction: row.direction,
    phone: row.direction === 'inbound' ? phone : '',
    type: row.type,
    content: row.content,
    ...(row.is_omitted ? { content_omitted: true as const } : {}),
    media_id: row.media_id ?? '',
    posted_at: row.posted_at.toISOString(),
  };
}

/** One status of the feed (STA-6). 404 INSTANCE_NOT_FOUND or NOT_FOUND, by what is missing or foreign. */
export async function findStatus(
  deps: { db: Db },
  input: { principal: Principal; instanceId: string; statusId: string },
): Promise<StatusItem> {
  const { instanceId } = await requireInstance(deps.db, input.principal, input.instanceId);
  const row = await readStatus(deps.db, instanceId, input.statusId);
  if (!row) throw apiError('NOT_FOUND', { message: 'status not found' });
  return oneRow(await statusItems(deps.db, instanceId, [row]));
}

/** The data of a status that a reply needs; null for one that is not in the feed. */
export async function findReferencedStatus(
  sql: Sql,
  instanceId: string,
  ref: string,
): Promise<KnownStatus | null> {
  const row = await readStatus(sql, instanceId, ref);
  if (!row) return null;
  if (row.direction === 'outbound') return { networkId: networkIdOf(row.status_id), poster: null };
  const poster = { instanceId, jid: row.author_jid };
  return { networkId: row.status_id, poster: knownJid(await readPhones(sql, [poster]), poster) };
}

async function readStatus(sql: Sql, instanceId: string, ref: string): Promise<StatusRow | undefined> {
  const found = await sql.query<StatusRow>(
    `SELECT ${STATUS_COLUMNS} FROM status_feed WHERE instance_id = $1 AND status_id = $2`,
    [instanceId, await findStatusKey(sql, instanceId, ref)],
  );
  return found.rows[0];
}
