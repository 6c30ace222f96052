import { type Jid, parseChat } from '@posthorn/contract/jid.ts';
import type { MediaItem } from '@posthorn/contract/messaging/media.ts';
import type { Principal } from '../access/principal.ts';
import { knownJid, readAddressesOf, readPhones } from '../lids/read-phones.ts';
import type { Db, Sql } from '../platform/database/db.ts';
import { oneRow } from '../platform/database/one-row.ts';
import { offsetOf } from '../platform/database/paging.ts';
import type { Clock } from '../platform/process/clock.ts';
import { type Row, toStored } from './find-media.ts';
import { findScope } from './find-scope.ts';

export interface MediaFilter {
  page: number;
  limit: number;
  /** Prefix of the MIME type: `image/`, `image/png`. */
  mime_type?: string | undefined;
  remote_jid?: string | undefined;
}

/**
 * The media of an instance, newest first (MED-13). The total is a sum over the tallies, a row for each chat
 * and type, less what has expired and waits for the job that removes it: the rows do not show it either. With a filter the index of each
 * type, or of each address of the chat, that fits is read from its newest end. Throws 404 NOT_FOUND.
 */
export async function listMedia(
  deps: { db: Db; clock: Clock },
  input: { principal: Principal; instanceId: string; filter: MediaFilter },
): Promise<{ data: MediaItem[]; total: number }> {
  const { filter } = input;
  const scope = await findScope(deps, input);
  const prefix = filter.mime_type === undefined ? null : likePrefix(filter.mime_type);
  const chats = await addressesOf(deps.db, scope.instanceId, filter.remote_jid);
  const now = deps.clock.now();
  const offset = offsetOf(filter);
  const tallied = await deps.db.query<{ total: number; types: string[] | null }>({
    name: 'media-list-tallies',
    text: `SELECT coalesce(sum(media_count), 0)::int - (
             SELECT count(*)::int FROM media
             WHERE instance_id = $1 AND expires_at <= $4 AND ($2::text IS NULL OR mime_type LIKE $2)
               AND ($3::text[] IS NULL OR remote_jid = ANY ($3))) AS total,
             array_agg(DISTINCT mime_type) AS types
           FROM media_tallies
           WHERE instance_id = $1 AND media_count > 0 AND ($2::text IS NULL OR mime_type LIKE $2)
             AND ($3::text[] IS NULL OR remote_jid = ANY ($3))`,
    values: [scope.instanceId, prefix, chats, now],
  });
  const { total, types } = oneRow(tallied.rows);
  if (types === null || offset >= total) return { data: [], total };
  const page = [scope.instanceId, now, offset, filter.limit];
  const { rows } = await deps.db.query<Row>(
    chats !== null
      ? { ...LIST_OF_CHATS, values: [...page, chats, prefix] }
      : prefix !== null
        ? { ...LIST_OF_TYPES, values: [...page, types, null] }
        : { ...LIST, values: page },
  );
  const book = await readPhones(
    deps.db,
    rows.flatMap((row) => row.remote_jid ?? []).map((jid) => ({ instanceId: scope.instanceId, jid })),
  );
  const known = (jid: Jid) => knownJid(book, { instanceId: scope.instanceId, jid });
  return { data: rows.map((row) => itemOf(row, known)), total };
}

/** The addresses under which the media of a chat may stand: what came before its phone was known is under another one. */
async function addressesOf(sql: Sql, instanceId: string, chat: string | undefined): Promise<Jid[] | null> {
  if (chat === undefined) return null;
  const parsed = parseChat(chat);
  return 'error' in parsed ? [chat] : readAddressesOf(sql, instanceId, parsed.jid);
}

/** `text` itself, whatever wildcards it holds. */
export function likePrefix(text: string): string {
  return `${text.toLowerCase().replace(/[\\%_]/g, '\\$&')}%`;
}

function itemOf(row: Row, known: (jid: Jid) => Jid): MediaItem {
  const media = toStored(row);
  return {
    id: media.mediaId,
    external_id: media.mediaId,
    instance_id: media.instanceId,
    s3_key: media.storageKey,
    mime_type: media.mimeType,
    file_name: media.fileName,
    file_size: media.sizeBytes,
    ...(row.remote_jid === null ? {} : { remote_jid: known(row.remote_jid) }),
    created_at: media.createdAt.toISOString(),
  };
}

/** Pages are cut from the index alone; only the rows that are shown are read. */
const pageSql = (ids: string) => `
SELECT m.* FROM (${ids}) AS page JOIN media m USING (id)
ORDER BY m.created_at DESC, m.id DESC`;

const listOf = (column: 'mime_type' | 'remote_jid') =>
  pageSql(`
  SELECT newest.id FROM unnest($5::text[]) AS wanted (value)
  CROSS JOIN LATERAL (
    SELECT id, created_at FROM media
    WHERE instance_id = $1 AND ${column} = wanted.value AND (expires_at IS NULL OR expires_at > $2)
      AND ($6::text IS NULL OR mime_type LIKE $6)
    ORDER BY created_at DESC, id DESC LIMIT $3::bigint + $4::bigint
  ) AS newest
  ORDER BY newest.created_at DESC, newest.id DESC OFFSET $3 LIMIT $4`);

const LIST_OF_TYPES = { name: 'media-list-types', text: listOf('mime_type') };
const LIST_OF_CHATS = { name: 'media-list-chats', text: listOf('remote_jid') };
const LIST = {
  name: 'media-list',
  text: pageSql(`
  SELECT id FROM media
  WHERE instance_id = $1 AND (expires_at IS NULL OR expires_at > $2)
  ORDER BY created_at DESC, id DESC OFFSET $3 LIMIT $4`),
};
