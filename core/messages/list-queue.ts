import type { QueueTask } from '@posthorn/contract/messaging/queue.ts';
import { reachOf } from '../access/company-scope.ts';
import type { Principal } from '../access/principal.ts';
import { loadInstance } from '../instances/find-instance.ts';
import type { Db } from '../platform/db.ts';
import type { Orm } from '../platform/orm.ts';

interface QueueInput {
  principal: Principal;
  instanceId: string;
}

/** What was accepted and is not done, in the order of sending. 404 INSTANCE_NOT_FOUND. */
export async function listQueue(
  deps: { orm: Orm; db: Db },
  input: QueueInput & { page: number; limit: number },
): Promise<{ data: QueueTask[]; total: number }> {
  const total = await countQueue(deps, input);
  const found = await deps.db.query<QueueTask & { created_at: Date }>(
    `SELECT o.task_id, o.operation, o.message_id, m.type AS message_type, m.chat_jid, o.created_at
     FROM (SELECT * FROM outbox WHERE instance_id = $1 ORDER BY seq LIMIT $2 OFFSET $3) AS o
     JOIN messages m ON m.id = o.message_id ORDER BY o.seq`,
    [input.instanceId, input.limit, (input.page - 1) * input.limit],
  );
  return { data: found.rows.map((row) => ({ ...row, created_at: row.created_at.toISOString() })), total };
}

/** The queue drains all the time: what is counted is what is there, by its index. */
export async function countQueue(deps: { orm: Orm; db: Db }, input: QueueInput): Promise<number> {
  const instance = await loadInstance(reachOf(deps.orm, input.principal), input.instanceId);
  const counted = await deps.db.query<{ n: number }>(
    'SELECT count(*)::integer AS n FROM outbox WHERE instance_id = $1',
    [instance.id],
  );
  return counted.rows[0]!.n;
}
