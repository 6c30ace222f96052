import type { MediaConversation } from '@posthorn/contract/messaging/media.ts';
import type { Principal } from '../access/principal.ts';
import { knownChatSql } from '../lids/chat-sql.ts';
import type { Db } from '../platform/database/db.ts';
import type { Clock } from '../platform/process/clock.ts';
import { findScope } from './find-scope.ts';
import { likePrefix } from './list-media.ts';

/** The route has no pages: the chats with the newest media, this many. */
const CONVERSATIONS_MAX = 1_000;

/**
 * Summarizes the media of each chat, the newest first (MED-14). Sums come from the tallies, less what has expired and
 * waits for the job that removes it; the thumbnail is the newest picture among the last media of the chat, or the newest media
 * when there is none. Throws 404 NOT_FOUND.
 */
export async function listConversations(
  deps: { db: Db; clock: Clock },
  input: { principal: Principal; instanceId: string; mimeType?: string | undefined },
): Promise<MediaConversation[]> {
  const scope = await findScope(deps, input);
  const found = await deps.db.query<Row>({
    name: 'media-conversations',
    text: CONVERSATIONS,
    values: [
      scope.instanceId,
      input.mimeType === undefined ? null : likePrefix(input.mimeType),
      CONVERSATIONS_MAX,
      deps.clock.now(),
    ],
  });
  return found.rows.map((row) => ({
    remote_jid: row.remote_jid,
    media_count: row.media_count,
    total_size: row.total_bytes,
    last_media_at: row.last_media_at.toISOString(),
    thumbnail_id: row.thumbnail_id,
  }));
}

interface Row {
  remote_jid: string;
  media_count: number;
  total_bytes: number;
  last_media_at: Date;
  thumbnail_id: string;
}

const FITS = `instance_id = $1 AND ($2::text IS NULL OR mime_type LIKE $2)`;

/** The newest media of a chat. Media from before its phone was known is stored under the chat's other addresses. */
const NEWEST = `
    SELECT m.id, m.mime_type, m.created_at FROM unnest(chat.addresses) AS own (jid) CROSS JOIN LATERAL (
      SELECT id, mime_type, created_at FROM media
      WHERE ${FITS} AND remote_jid = own.jid AND (expires_at IS NULL OR expires_at > $4)
      ORDER BY created_at DESC, id DESC LIMIT 50
    ) AS m
    ORDER BY m.created_at DESC, m.id DESC LIMIT 50`;

const CONVERSATIONS = `
WITH sums AS (
  SELECT remote_jid, media_count, total_bytes, last_media_at FROM media_tallies
  WHERE ${FITS} AND remote_jid <> '' AND media_count > 0
  UNION ALL
  SELECT remote_jid, -count(*), -sum(size_bytes), NULL FROM media
  WHERE ${FITS} AND expires_at <= $4 AND remote_jid IS NOT NULL GROUP BY remote_jid
)
SELECT chat.remote_jid, chat.media_count, chat.total_bytes, newest.created_at AS last_media_at,
       coalesce(picture.id, newest.id) AS thumbnail_id
FROM (
  SELECT known.remote_jid, array_agg(DISTINCT sums.remote_jid) AS addresses, sum(media_count)::bigint AS media_count,
         sum(total_bytes)::bigint AS total_bytes, max(last_media_at) AS last_media_at
  FROM sums CROSS JOIN LATERAL (SELECT ${knownChatSql('$1', 'sums.remote_jid')} AS remote_jid) AS known
  GROUP BY known.remote_jid HAVING sum(media_count) > 0
  ORDER BY max(last_media_at) DESC, known.remote_jid LIMIT $3
) AS chat
CROSS JOIN LATERAL (SELECT id, created_at FROM (${NEWEST}) AS recent LIMIT 1) AS newest
LEFT JOIN LATERAL (
  SELECT id FROM (${NEWEST}) AS recent WHERE recent.mime_type LIKE 'image/%' LIMIT 1
) AS picture ON true
ORDER BY newest.created_at DESC, chat.remote_jid`;
