import type { OpenedMedia } from './open-media.ts';

/**
 * Notes the first chat that media was sent to, and moves it there in the tallies: from then on it counts for
 * that conversation (MED-13).
 */
export async function linkToChat(
  { db }: Pick<OpenedMedia, 'db'>,
  { mediaId }: { mediaId: string },
  remoteJid: string,
): Promise<void> {
  await db.query({ name: 'media-link', text: LINK, values: [mediaId, remoteJid] });
}

/**
 * The row without a chat sorts before any with one: the order in which all others lock tallies too. PostgreSQL would change it
 * last if the rest of the statement did not read from that part.
 */
const LINK = `
WITH linked AS (
  UPDATE media SET remote_jid = $2 WHERE id = $1 AND remote_jid IS NULL
  RETURNING instance_id, company_id, mime_type, size_bytes, created_at
), fewer AS (
  UPDATE media_tallies t SET media_count = t.media_count - 1, total_bytes = t.total_bytes - linked.size_bytes
  FROM linked
  WHERE t.instance_id = linked.instance_id AND t.remote_jid = '' AND t.mime_type = linked.mime_type
  RETURNING 1
)
INSERT INTO media_tallies AS t
       (instance_id, company_id, remote_jid, mime_type, media_count, total_bytes, last_media_at)
SELECT instance_id, company_id, $2, mime_type, 1, size_bytes, created_at FROM linked
WHERE (SELECT count(*) FROM fewer) >= 0
ON CONFLICT (instance_id, remote_jid, mime_type) DO UPDATE
SET media_count = t.media_count + 1,
    total_bytes = t.total_bytes + excluded.total_bytes,
    last_media_at = greatest(t.last_media_at, excluded.last_media_at)`;
