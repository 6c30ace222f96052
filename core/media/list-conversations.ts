import type { MediaConversation } from '@posthorn/contract/messaging/media.ts';
import type { Principal } from '../access/principal.ts';
import type { Db } from '../platform/database/db.ts';
import { findScope } from './find-scope.ts';
import { likePrefix } from './list-media.ts';

/** The route has no pages: the chats with the newest media, this many. */
const CONVERSATIONS_MAX = 1_000;

/**
 * Summarizes the media of each chat, the newest first (MED-14). Sums come from the tallies; the thumbnail is the
 * newest picture among the last media of the chat, or the newest media when there is none. Throws 404
 * NOT_FOUND.
 */
export async function listConversations(
  deps: { db: Db },
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

const CONVERSATIONS = `
SELECT chat.remote_jid, chat.media_count, chat.total_bytes, newest.created_at AS last_media_at,
       coalesce(picture.id, newest.id) AS thumbnail_id
FROM (
  SELECT remote_jid, sum(media_count)::bigint AS media_count, sum(total_bytes)::bigint AS total_bytes,
         max(last_media_at) AS last_media_at
  FROM media_tallies
  WHERE instance_id = $1 AND remote_jid <> '' AND media_count > 0 AND ($2::text IS NULL OR mime_type LIKE $2)
  GROUP BY remote_jid ORDER BY max(last_media_at) DESC, remote_jid LIMIT $3
) AS chat
CROSS JOIN LATERAL (
  SELECT id, created_at FROM media m
  WHERE m.instance_id = $1 AND m.remote_jid = chat.remote_jid AND ($2::text IS NULL OR m.mime_type LIKE $2)
  ORDER BY m.created_at DESC, m.id DESC LIMIT 1
) AS newest
LEFT JOIN LATERAL (
  SELECT id FROM (
    SELECT id, mime_type FROM media m
    WHERE m.instance_id = $1 AND m.remote_jid = chat.remote_jid AND ($2::text IS NULL OR m.mime_type LIKE $2)
    ORDER BY m.created_at DESC, m.id DESC LIMIT 50
  ) AS recent
  WHERE recent.mime_type LIKE 'image/%' LIMIT 1
) AS picture ON true
ORDER BY newest.created_at DESC, chat.remote_jid`;
