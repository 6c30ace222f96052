import type { NewEvent } from '../events/insert-events.ts';
import { type RecorderDeps, type Recording, recordUnderLease } from '../instances/create-recorder.ts';
import type { Lease, Recorded } from '../instances/lock-leases.ts';
import type { Sql } from '../platform/database/db.ts';
import {
  applyDelete,
  applyEdit,
  CHANGED_COLUMNS,
  type ChangedMessage,
  changedFamily,
  eventOf,
} from './apply-change.ts';
import { uncountSends } from './uncount-sends.ts';

/** How a delete or edit task ended. */
export interface EndedChange {
  taskId: string;
  operation: 'delete' | 'edit';
  lease: Lease;
  at: Date;
  /** Absent: the network took it. */
  failure?: { reason: string; wireState: 'not_sent' | 'unknown' };
}

/**
 * Records the end of a delete or edit: the message's change with its events, or the failure, and the end of
 * the task commit together. A task that is gone was recorded before: nothing happens. Throws LeaseLost.
 */
export async function recordChangeTask(deps: RecorderDeps, ended: EndedChange): Promise<Recorded> {
  await recordUnderLease(deps, ended.lease, (recording) => recordEnd(recording, ended));
  return 'recorded';
}

async function recordEnd({ client, now, tell }: Recording, ended: EndedChange): Promise<void> {
  const tasks = await client.query<Task>(
    'DELETE FROM outbox WHERE task_id = $1 RETURNING message_id, payload, trace_id, created_at',
    [ended.taskId],
  );
  const task = tasks.rows[0];
  if (!task) return;
  await client.query(
    'INSERT INTO finished_changes (task_id, status, finished_at) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING',
    [ended.taskId, ended.failure ? 'failed' : 'sent', now],
  );
  const found = await client.query<ChangedMessage>(
    `SELECT ${CHANGED_COLUMNS} FROM messages WHERE id = $1 FOR UPDATE`,
    [task.message_id],
  );
  const message = found.rows[0];
  if (!message) return;
  if (ended.failure?.wireState === 'not_sent') {
    const { instance_id: instanceId, chat_jid: chatJid } = message;
    await uncountSends(client, [{ instanceId, chatJid, acceptedAt: task.created_at }]);
  }
  // Its events trace back to the request that asked for the change.
  const traced = { ...message, trace_id: task.trace_id };
  await tell(await eventsOf(client, traced, task, ended, now));
}

async function eventsOf(
  client: Sql,
  message: ChangedMessage,
  task: Task,
  ended: EndedChange,
  now: Date,
): Promise<NewEvent[]> {
  const { operation, failure, at } = ended;
  if (failure) return [changeFailure(message, { operation, failure, at }, now)];
  if (operation === 'delete') return applyDelete(client, message, at, now);
  return applyEdit(client, message, { content: task.payload?.change ?? {}, at }, now);
}

/** The event of a delete or edit that failed. */
export function changeFailure(
  message: ChangedMessage,
  { operation, failure, at }: Required<Pick<EndedChange, 'operation' | 'failure' | 'at'>>,
  now: Date,
): NewEvent {
  const data = {
    ...changedFamily(message, at),
    operation,
    wire_state: failure.wireState,
    reason: failure.reason,
  };
  return eventOf(message, `${message.type}.delivery_failed`, data, now);
}

interface Task {
  message_id: string;
  payload: { change?: Record<string, unknown> } | null;
  trace_id: string | null;
  created_at: Date;
}
