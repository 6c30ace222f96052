import { holdSql } from '../access/company-hold.ts';
import { type InstanceSettings, settingsOf } from '../instances/settings.ts';
import { type Coalescer, createCoalescer } from '../platform/database/coalesce.ts';
import type { Db } from '../platform/database/db.ts';

/** A task to dispatch, with the message it is about. */
export interface PendingTask {
  seq: number;
  taskId: string;
  operation: string;
  messageId: string;
  traceId: string | null;
  /** How often a send was begun on a network that does not drop duplicates. */
  attempts: number;
  type: string;
  chatJid: string;
  content: Record<string, unknown>;
  quotedId: string | null;
  mediaId: string | null;
  /** Data that the accept recorded for the dispatch: the target of a change, the source of a forward. */
  payload: Record<string, unknown> | null;
  companyId: number;
  createdAt: Date;
  /** The instance's settings, read with the task: a task that was accepted after a change has the changed ones. */
  settings: InstanceSettings;
  /** Since when its queue waits for the network to tell what became of it; Unix ms. */
  awaitedSinceMs?: number;
  /** Since when the network has not been able to take it; Unix ms. */
  deferredSinceMs?: number;
}

export interface PendingQuery {
  instanceId: string;
  afterSeq: number;
}

export type PendingLoader = Coalescer<PendingQuery, PendingTask[]>;

/** Most tasks of one instance in one answer; a full answer means that there may be more. */
export const PENDING_PAGE = 64;

/**
 * Reads the unfinished tasks of instances in accept order, each above a seq; none of a company that may not send
 * now, whose tasks wait. Concurrent reads share a query: a thousand instances with a message each are not a
 * thousand queries.
 */
export function createPendingLoader(deps: { db: Db }): PendingLoader {
  return createCoalescer<PendingQuery, PendingTask[]>({
    maxBatch: 64,
    async run(batch) {
      const found = await deps.db.query<Row>({
        name: 'outbox-load-pending',
        text: LOAD,
        values: [batch.map((query) => query.instanceId), batch.map((query) => query.afterSeq), PENDING_PAGE],
      });
      const tasks = batch.map((): PendingTask[] => []);
      for (const row of found.rows) tasks[row.nth - 1]!.push(toTask(row));
      return tasks;
    },
  });
}

interface Row {
  nth: number;
  seq: number;
  task_id: string;
  operation: string;
  message_id: string;
  trace_id: string | null;
  attempts: number;
  type: string;
  chat_jid: string;
  content: Record<string, unknown>;
  quoted_id: string | null;
  media_id: string | null;
  payload: Record<string, unknown> | null;
  company_id: number;
  created_at: Date;
  settings: unknown;
}

function toTask(row: Row): PendingTask {
  return {
    seq: row.seq,
    taskId: row.task_id,
    operation: row.operation,
    messageId: row.message_id,
    traceId: row.trace_id,
    attempts: row.attempts,
    type: row.type,
    chatJid: row.chat_jid,
    content: row.content,
    quotedId: row.quoted_id,
    mediaId: row.media_id,
    payload: row.payload,
    companyId: row.company_id,
    createdAt: row.created_at,
    settings: settingsOf(row.settings),
  };
}

const LOAD = `
SELECT wanted.nth::integer AS nth, task.seq, task.task_id, task.operation, task.message_id, task.trace_id,
       task.attempts, task.payload, task.company_id, task.created_at, m.type, m.chat_jid, m.content, m.quoted_id,
       m.media_id, i.settings
FROM unnest($1::uuid[], $2::bigint[]) WITH ORDINALITY AS wanted (instance_id, after_seq, nth)
JOIN instances i ON i.id = ANY (ARRAY[wanted.instance_id])
JOIN companies c ON c.id = ANY (ARRAY[i.company_id]) AND ${holdSql('c')} IS NULL
CROSS JOIN LATERAL (
  SELECT * FROM outbox
  WHERE outbox.instance_id = wanted.instance_id AND outbox.seq > wanted.after_seq
  ORDER BY outbox.seq LIMIT $3
) AS task
JOIN messages m ON m.id = ANY (ARRAY[task.message_id])
ORDER BY wanted.nth, task.seq`;
