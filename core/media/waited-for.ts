/** No queued and no scheduled send waits for a row of `media`: for the WHERE of what removes it. */
export const NOT_WAITED_FOR = `
    NOT EXISTS (SELECT 1 FROM outbox o JOIN messages m ON m.id = o.message_id
                WHERE o.instance_id = media.instance_id AND m.media_id = media.id)
    AND NOT EXISTS (SELECT 1 FROM scheduled_sends s
                    WHERE s.instance_id = media.instance_id AND s.status IN ('scheduled', 'claimed')
                      AND s.body->>'media_id' = media.id::text)`;

/**
 * SQL: the ids, as text, of the media for which queued and scheduled sends of some instances wait: for a statement that removes many
 * media, which would otherwise look through the queue of their instance once for each.
 */
export function waitedForSql(instanceIds: string): string {
  return `
  SELECT m.media_id::text FROM outbox o JOIN messages m ON m.id = ANY (ARRAY[o.message_id])
  WHERE o.instance_id = ANY (ARRAY(${instanceIds})) AND m.media_id IS NOT NULL
  UNION ALL
  SELECT s.body->>'media_id' FROM scheduled_sends s
  WHERE s.instance_id = ANY (ARRAY(${instanceIds})) AND s.status IN ('scheduled', 'claimed')
    AND s.body->>'media_id' IS NOT NULL`;
}
