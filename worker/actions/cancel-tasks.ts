import type { Lease, Recorded } from '@posthorn/core/instances/hold-leases.ts';
import type { CancelAnswer } from '@posthorn/core/messages/cancel-queued.ts';
import type { EndedChange } from '@posthorn/core/messages/record-change-task.ts';
import type { ProgressRecorder } from '@posthorn/core/messages/record-progress.ts';
import type { Clock } from '@posthorn/core/platform/clock.ts';
import type { Sql } from '@posthorn/core/platform/db.ts';
import type { Lane, TaskRef } from '../dispatch/instance-queue.ts';
import { isChange } from '../dispatch/outbound.ts';

export interface CancelTasksDeps {
  db: Sql;
  clock: Clock;
  recorder: ProgressRecorder;
  recordChange(ended: EndedChange): Promise<Recorded>;
}

/**
 * Cancels tasks of an instance, all of them without `taskIds`. Run by the owner alone: its lane knows what
 * is being sent; without a lane nothing is. Rejects when the end of a task could not be recorded.
 */
export async function cancelTasks(
  deps: CancelTasksDeps,
  instance: { id: string; lease: Lease; lane: Lane | null },
  taskIds: readonly string[] | null,
): Promise<CancelAnswer> {
  const found = await deps.db.query<{ task_id: string; message_id: string; operation: string }>(
    `SELECT task_id, message_id, operation FROM outbox
     WHERE instance_id = $1 AND ($2::uuid[] IS NULL OR task_id = ANY ($2::uuid[])) ORDER BY seq`,
    [instance.id, taskIds],
  );
  const tasks = found.rows.map((row) => ({
    taskId: row.task_id,
    messageId: row.message_id,
    operation: row.operation,
  }));
  if (instance.lane) {
    const { cancelled, underWay } = await instance.lane.cancel(tasks);
    return { cancelled, under_way: underWay };
  }
  await Promise.all(tasks.map((task) => recordCancelled(deps, instance.lease, task)));
  return { cancelled: tasks.map((task) => task.taskId), under_way: [] };
}

function recordCancelled(deps: CancelTasksDeps, lease: Lease, task: TaskRef): Promise<Recorded> {
  const at = deps.clock.now();
  const end = { reason: 'cancelled', wireState: 'not_sent' } as const;
  if (!isChange(task))
    return deps.recorder.push({ messageId: task.messageId, lease, to: 'failed', at, ...end });
  const operation = task.operation as EndedChange['operation'];
  return deps.recordChange({ taskId: task.taskId, operation, lease, at, failure: end });
}
