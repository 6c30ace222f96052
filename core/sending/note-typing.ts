import { type Lease, underLease } from '../instances/lock-leases.ts';
import type { Db } from '../platform/database/db.ts';

/**
 * Notes for how long a task is being typed, by the clock of the database, which those who read it share. It goes with
 * the task. Rejects with LeaseLost when another worker owns the instance by now.
 */
export async function noteTyping(
  db: Db,
  typing: { taskId: string; lease: Lease; forMs: number },
): Promise<void> {
  await underLease(db, typing.lease, (sql) =>
    sql.query(
      `UPDATE outbox SET typing_until = clock_timestamp() + $2 * interval '1 millisecond' WHERE task_id = $1`,
      [typing.taskId, typing.forMs],
    ),
  );
}
