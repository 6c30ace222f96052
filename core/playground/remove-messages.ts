import { WEBHOOK_PAYLOAD_RETENTION_DAYS } from '@posthorn/contract/limits.ts';
import type { Db } from '../platform/database/db.ts';
import { ownedSql } from '../platform/database/paging.ts';
import { DAY_MS } from '../platform/durations.ts';
import { firstIdAt } from '../platform/ids.ts';
import { PLAYGROUND_INSTANCE_ID } from './shared-instance.ts';

const BATCH = 1_000;

/**
 * Removes the messages of the playground once the events about them are gone, and the chats that are then empty. No
 * user can delete these; the messages of a purged company are already gone.
 */
export async function removePlaygroundMessages(db: Db, now: Date): Promise<void> {
  const before = new Date(now.getTime() - WEBHOOK_PAYLOAD_RETENTION_DAYS * DAY_MS);
  for (;;) {
    const gone = await db.query(
      `DELETE FROM messages WHERE id IN (
         SELECT id FROM messages WHERE ${ownedSql('instance_id', '$1', { is: '<', than: '$2' })}
         ORDER BY instance_id, id LIMIT ${BATCH}
       )`,
      [PLAYGROUND_INSTANCE_ID, firstIdAt(before)],
    );
    if ((gone.rowCount ?? 0) < BATCH) break;
  }
  await db.query('DELETE FROM chats WHERE instance_id = $1 AND active_at < $2', [
    PLAYGROUND_INSTANCE_ID,
    before,
  ]);
}
