/**
 * SQL: the ids, as text, of the media for which queued and scheduled sends of some instances wait, for the WHERE of what removes
 * media. It reads the queue of an instance once for all of them.
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
