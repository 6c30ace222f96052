/** No queued and no scheduled send waits for a row of `media`: for the WHERE of what removes it. */
export const NOT_WAITED_FOR = `
    NOT EXISTS (SELECT 1 FROM outbox o JOIN messages m ON m.id = o.message_id
                WHERE o.instance_id = media.instance_id AND m.media_id = media.id)
    AND NOT EXISTS (SELECT 1 FROM scheduled_sends s
                    WHERE s.instance_id = media.instance_id AND s.status IN ('scheduled', 'claimed')
                      AND s.body->>'media_id' = media.id::text)`;
