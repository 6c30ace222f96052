import type { NewEvent } from '../events/insert-events.ts';
import type { TellEvents } from '../events/tell-events.ts';
import type { Sql } from '../platform/database/db.ts';
import { CHANGED_COLUMNS, type ChangedMessage } from './apply-change.ts';
import { type OutboundFacts, progressEvent } from './message-events.ts';
import { changeFailure } from './record-change-task.ts';
import { IN_ORDER, LOCK_OUTBOUND } from './record-progress.ts';

const BATCH = 500;

/**
 * Fails the first tasks that wait in an instance, which sends nothing more: messages, events and the end of the
 * tasks in the transaction `sql`. It takes no lease: what a worker records of them before counts, and later nothing
 * does. Returns whether more may wait.
 */
export async function failWaiting(
  sql: Sql,
  tell: TellEvents,
  failing: { instanceId: string; reason: string; now: Date },
): Promise<boolean> {
  const { instanceId } = failing;
  const { rows: tasks } = await sql.query<Task>(
    'SELECT task_id, message_id, operation, attempts FROM outbox WHERE instance_id = $1 ORDER BY seq LIMIT $2',
    [instanceId, BATCH],
  );
  if (tasks.length === 0) return false;
  // In the order in which the recorders lock: the tasks of changes, messages, the tasks of sends.
  const changes = tasks.filter(({ operation }) => operation === 'delete' || operation === 'edit');
  const ended = new Map([
    ...(await failChanges(sql, changes, failing)),
    ...(await failSends(sql, tasks, failing)),
  ]);
  await sql.query('DELETE FROM outbox WHERE task_id = ANY ($1::uuid[])', [tasks.map((task) => task.task_id)]);
  await tell(
    sql,
    tasks.flatMap((task) => ended.get(task.task_id) ?? []),
  );
  return tasks.length === BATCH;
}

interface Task {
  task_id: string;
  message_id: string | null;
  operation: string;
  attempts: number;
}

interface Failing {
  reason: string;
  now: Date;
}

/** The event of each delete and edit that ends here. */
async function failChanges(
  sql: Sql,
  tasks: readonly Task[],
  { reason, now }: Failing,
): Promise<Map<string, NewEvent>> {
  const { rows } = await sql.query<ChangedMessage & { task_id: string; operation: 'delete' | 'edit' }>(
    `WITH ended AS (
       DELETE FROM outbox WHERE task_id = ANY ($1::uuid[]) RETURNING task_id, message_id, operation, trace_id
     ), kept AS (
       INSERT INTO finished_changes (task_id, status, finished_at) SELECT task_id, 'failed', $2 FROM ended
       ON CONFLICT DO NOTHING
     )
     SELECT m.*, e.task_id, e.operation, e.trace_id FROM ended e
     JOIN LATERAL (SELECT ${CHANGED_COLUMNS} FROM messages WHERE id = e.message_id) m ON true`,
    [tasks.map((task) => task.task_id), now],
  );
  const failure = { reason, wireState: 'not_sent' } as const;
  return new Map(
    rows.map((row) => [row.task_id, changeFailure(row, { operation: row.operation, failure, at: now }, now)]),
  );
}

/** The event of each message that fails here: one that is queued still. */
async function failSends(
  sql: Sql,
  tasks: readonly Task[],
  { reason, now }: Failing,
): Promise<Map<string, NewEvent>> {
  const byId = new Map(tasks.map((task) => [task.task_id, task]));
  // The task of a send has the id of its message.
  const { rows } = await sql.query<OutboundFacts & { status: string }>(
    `${LOCK_OUTBOUND} id = ANY ($1::uuid[]) ${IN_ORDER}`,
    [[...byId.keys()]],
  );
  const failed = rows.filter(({ status }) => status === 'queued');
  await sql.query(
    `UPDATE messages SET status = 'failed', failed_at = $2, failed_reason = $3 WHERE id = ANY ($1::uuid[])`,
    [failed.map(({ id }) => id), now, reason],
  );
  return new Map(
    failed.map((row) => {
      const wireState = byId.get(row.id)!.attempts > 0 ? 'unknown' : 'not_sent';
      return [row.id, progressEvent(row, 'failed', { at: now, reason, wireState }, now)];
    }),
  );
}
