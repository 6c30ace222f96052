import type { Lease } from '@posthorn/core/instances/lock-leases.ts';
import type { Sql } from '@posthorn/core/platform/database/db.ts';
import type { Clock } from '@posthorn/core/platform/process/clock.ts';
import type { CancelAnswer } from '@posthorn/core/rpc/owner-calls.ts';
import type { Attempts } from '@posthorn/core/sending/begin-attempt.ts';
import type { InstanceQueue } from './instance-queue.ts';
import { type OutcomeDeps, recordEnd } from './keep-outcomes.ts';

export interface CancelTasksDeps extends Pick<OutcomeDeps, 'recorder' | 'recordChange'> {
  db: Sql;
  clock: Clock;
  attempts: Pick<Attempts, 'hasBegunInVain'>;
}

/**
 * Cancels tasks of an instance: these, those accepted before one `seq` of the outbox, or all. Only the shard's owner
 * may run it: its instance queue knows which tasks are being sent, and without a queue none are. They fail with
 * `reason`. A task whose send was begun and has no outcome counts as under way: the network may have it, whichever worker
 * sent it. One that was begun in vain waits as before. Rejects if the end of a task could not be recorded.
 */
export async function cancelTasks(
  deps: CancelTasksDeps,
  instance: { id: string; lease: Lease; queue: InstanceQueue | null },
  which: { taskIds?: readonly string[]; before?: number },
  reason = 'cancelled',
): Promise<CancelAnswer> {
  const found = await deps.db.query<{
    task_id: string;
    message_id: string;
    operation: string;
    attempts: number;
  }>(
    `SELECT task_id, message_id, operation, attempts FROM outbox
     WHERE instance_id = $1 AND ($2::uuid[] IS NULL OR task_id = ANY ($2::uuid[]))
       AND ($3::bigint IS NULL OR seq < $3) ORDER BY seq`,
    [instance.id, which.taskIds ?? null, which.before ?? null],
  );
  const { lease } = instance;
  const isBegun = ({ attempts, task_id: taskId }: (typeof found.rows)[number]) =>
    attempts > 0 && !deps.attempts.hasBegunInVain({ taskId, lease });
  const begun = found.rows.filter(isBegun).map((row) => row.task_id);
  // Asked in the same turn as the queue: a send that begins later finds its task cancelled.
  const waiting = found.rows.filter((row) => !isBegun(row));
  const tasks = waiting.map((row) => ({
    taskId: row.task_id,
    messageId: row.message_id,
    operation: row.operation,
  }));
  if (instance.queue) {
    const { cancelled, underWay } = await instance.queue.cancel(tasks, reason);
    return { cancelled, under_way: [...underWay, ...begun] };
  }
  const end = { to: 'failed', at: deps.clock.now(), reason, wireState: 'not_sent' } as const;
  await Promise.all(tasks.map((task) => recordEnd(deps, lease, task, end)));
  return { cancelled: tasks.map((task) => task.taskId), under_way: begun };
}
