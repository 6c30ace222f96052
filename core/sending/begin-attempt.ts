import { type Lease, underLease } from '../instances/lock-leases.ts';
import type { Db } from '../platform/database/db.ts';

/**
 * Notes that a send begins. A task found with an attempt whose outcome was never recorded is not sent
 * again on a network that would show it twice: it fails with `outcome_unknown`. Rejects when the send must
 * not begin: with LeaseLost when another worker owns the instance by now, and when the task is gone.
 */
export async function beginAttempt(db: Db, attempt: { taskId: string; lease: Lease }): Promise<void> {
  const { rowCount } = await underLease(db, attempt.lease, (sql) =>
    sql.query('UPDATE outbox SET attempts = attempts + 1 WHERE task_id = $1', [attempt.taskId]),
  );
  if (rowCount === 0) throw new Error('the task was finished by another');
}

/** Takes the note back: the network said that it did not take the message. Rejects with LeaseLost. */
export async function endAttempt(db: Db, attempt: { taskId: string; lease: Lease }): Promise<void> {
  await underLease(db, attempt.lease, (sql) =>
    sql.query('UPDATE outbox SET attempts = greatest(0, attempts - 1) WHERE task_id = $1', [attempt.taskId]),
  );
}
