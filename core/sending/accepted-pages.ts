import type { AcceptRows, NewTask } from './accept-sql.ts';
import type { PendingTask } from './load-pending.ts';
import type { AcceptedFor, LocalQueues } from './local-queues.ts';

/** The queues of this process that wait for work, with the tasks that each has handled. */
export function idleQueues(
  queues: LocalQueues | undefined,
  batch: readonly { instanceId: string }[],
): Map<string, number> {
  const idle = new Map<string, number>();
  if (!queues) return idle;
  for (const { instanceId } of batch) {
    const seq = queues.idleAt(instanceId);
    if (seq !== null) idle.set(instanceId, seq);
  }
  return idle;
}

/**
 * The accepted tasks of a batch, by instance. `idleAt` has the instances that had no task above this seq before, as read
 * under the lock of their accept order: what was accepted now is then all that there is.
 */
export function acceptedFor(
  rows: Pick<AcceptRows, 'sends' | 'changes'>,
  of: {
    idleAt: ReadonlyMap<string, number>;
    seqs: ReadonlyMap<string, number>;
    now: Date;
    /** Monotonic. */
    knownAtMs: number;
  },
): AcceptedFor[] {
  const accepted = new Map<string, AcceptedFor>();
  // A delete or edit stands between the sends: the queue reads all of it.
  for (const { command } of rows.changes)
    accepted.set(command.instanceId, { instanceId: command.instanceId, page: null });
  for (const send of rows.sends) {
    const { instanceId } = send.command;
    const afterSeq = of.idleAt.get(instanceId);
    const page = afterSeq === undefined ? null : { afterSeq, knownAtMs: of.knownAtMs, tasks: [] };
    const { page: known } = accepted.get(instanceId) ?? setIn(accepted, { instanceId, page });
    known?.tasks.push(toTask(send, of.seqs.get(send.taskId) ?? Number.NaN, of.now));
  }
  for (const { page } of accepted.values()) page?.tasks.sort((a, b) => a.seq - b.seq);
  return [...accepted.values()];
}

function setIn(accepted: Map<string, AcceptedFor>, one: AcceptedFor): AcceptedFor {
  accepted.set(one.instanceId, one);
  return one;
}

function toTask({ command, message, ...task }: NewTask, seq: number, now: Date): PendingTask {
  return {
    seq,
    taskId: task.taskId,
    operation: command.operation,
    messageId: task.taskId,
    traceId: command.traceId,
    attempts: 0,
    type: message.type,
    chatJid: message.chatJid,
    // As it comes out of the database.
    content: JSON.parse(JSON.stringify(message.content)) as Record<string, unknown>,
    quotedId: task.quotedNetworkId ?? null,
    mediaId: message.mediaId ?? null,
    payload: message.payload
      ? (JSON.parse(JSON.stringify(message.payload)) as Record<string, unknown>)
      : null,
    companyId: task.companyId,
    createdAt: now,
    settings: task.settings,
  };
}
