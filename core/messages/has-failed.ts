import type { Db } from '../platform/database/db.ts';
import { OUTCOME_UNKNOWN } from './progress.ts';

/**
 * Whether a message was cancelled or has failed, so that a change of it would be one of something that nobody got. One whose
 * outcome is unknown may have arrived.
 */
export async function hasFailed(db: Db, messageId: string): Promise<boolean> {
  const { rows } = await db.query(
    `SELECT FROM messages WHERE id = $1 AND status = 'failed' AND failed_reason <> $2`,
    [messageId, OUTCOME_UNKNOWN],
  );
  return rows.length > 0;
}
