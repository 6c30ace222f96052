import type { QueueTask } from '@posthorn/contract/messaging/queue.ts';
import { requireInstance } from '../access/instance-scope.ts';
import type { Principal } from '../access/principal.ts';
import { knownChatSql } from '../lids/chat-sql.ts';
import type { Db } from '../platform/database/db.ts';
import { oneRow } from '../platform/database/one-row.ts';
import { offsetOf } from '../platform/database/paging.ts';

interface QueueInput {
  principal: Principal;
  instanceId: string;
}

/** Lists accepted messages that are not finished, in the order of sending. 404 INSTANCE_NOT_FOUND. */
export async function listQueue(
  deps: { db: Db },
  input: QueueInput & { page: number; limit: number },
): Promise<{ data: QueueTask[]; total: number }> {
  const total = await countQueue(deps, input);
  const found = await deps.db.query<QueueTask & { created_at: Date; typing_until: Date | null }>(
    `SELECT o.task_id, o.operation, o.message_id, m.type AS message_type,
            ${knownChatSql('m.instance_id', 'm.chat_jid')} AS chat_jid, o.created_at,
            CASE WHEN o.typing_until > clock_timestamp() THEN o.typing_until END AS typing_until
     FROM (SELECT * FROM outbox WHERE instance_id = $1 ORDER BY seq LIMIT $2 OFFSET $3) AS o
     JOIN messages m ON m.id = o.message_id ORDER BY o.seq`,
    [input.instanceId, input.limit, offsetOf(input)],
  );
  const data = found.rows.map((row) => ({
    ...row,
    created_at: row.created_at.toISOString(),
    typing_until: row.typing_until?.toISOString() ?? null,
  }));
  return { data, total };
}

/** Counts the rows by their index each time: the queue drains all the time, so no count of it can be kept. */
export async function countQueue(deps: { db: Db }, input: QueueInput): Promise<number> {
  const { instanceId } = await requireInstance(deps.db, input.principal, input.instanceId);
  const counted = await deps.db.query<{ n: number }>(
    'SELECT count(*)::integer AS n FROM outbox WHERE instance_id = $1',
    [instanceId],
  );
  return oneRow(counted.rows).n;
}
