import type { Db } from '../platform/database/db.ts';
import { OUTCOME_UNKNOWN } from './progress.ts';

/**
 * Whether nobody has the message that a delete or edit is about: it was cancelled or has failed, or an edit comes after its
 * deletion. One whose outcome is unknown may have arrived.
 */
export async function isGone(
  db: Db,
  { messageId, operation }: { messageId: string; operation: string },
): Promise<boolean> {
  const { rows } = await db.query(
    `SELECT FROM messages WHERE id = $1
     AND ((status = 'failed' AND failed_reason <> $2) OR (deleted_at IS NOT NULL AND $3 = 'edit'))`,
    [messageId, OUTCOME_UNKNOWN, operation],
  );
  return rows.length > 0;
}
