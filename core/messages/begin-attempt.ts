import type { Sql } from '../platform/db.ts';

/**
 * Notes that a send begins. A task found with an attempt whose outcome was never recorded is not sent
 * again on a network that would show it twice: it fails with `outcome_unknown` (design 3.4).
 */
export async function beginAttempt(sql: Sql, taskId: string): Promise<void> {
  await sql.query('UPDATE outbox SET attempts = attempts + 1 WHERE task_id = $1', [taskId]);
}
