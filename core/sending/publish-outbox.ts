import { shardQueue } from '../instances/shard.ts';
import type { Sql } from '../platform/database/db.ts';

/** "This instance has work up to this seq": what travels through the broker. */
export interface WakeUp {
  instanceId: string;
  upToSeq: number;
}

/**
 * Those in a message from the broker. Anything else in it is left out instead of refused: a message that is returned to its queue
 * comes again for ever, and the database holds what there is to do.
 */
export function wakeUpsIn(body: unknown): WakeUp[] {
  const { instances } = (body ?? {}) as { instances?: unknown };
  return Array.isArray(instances) ? instances.filter(isWakeUp) : [];
}

function isWakeUp(one: unknown): one is WakeUp {
  const { instanceId, upToSeq } = (one ?? {}) as Record<string, unknown>;
  return typeof instanceId === 'string' && typeof upToSeq === 'number';
}

/** A row of the outbox that the broker has not been told of. */
export interface UnpublishedTask {
  seq: number;
  instance_id: string;
  trace_id: string | null;
}

/** The oldest first, `limit` at most. */
export async function readUnpublished(sql: Sql, limit: number): Promise<UnpublishedTask[]> {
  const found = await sql.query<UnpublishedTask>({
    name: 'outbox-read-unpublished',
    text: 'SELECT seq, instance_id, trace_id FROM outbox WHERE published_at IS NULL ORDER BY seq LIMIT $1',
    values: [limit],
  });
  return found.rows;
}

/** One wake-up for each instance of `tasks`, which ascend by seq: the last one of an instance is its highest. */
export function wakeUpsOf(tasks: readonly UnpublishedTask[]): WakeUp[] {
  const byInstance = new Map<string, WakeUp>();
  for (const { instance_id: instanceId, seq: upToSeq } of tasks)
    byInstance.set(instanceId, { instanceId, upToSeq });
  return [...byInstance.values()];
}

/** A row that somebody else holds stays unmarked: its next wake-up finds nothing to do. */
export async function markPublished(sql: Sql, seqs: readonly number[], now: Date): Promise<void> {
  await sql.query({
    name: 'outbox-mark-published',
    // By range as well as by list: the range finds the rows through the partial index, the list keeps
    // out those that were accepted meanwhile with a lower seq. It waits for nobody: workers remove tasks in the
    // order in which they end, and each could wait for the other.
    text: `UPDATE outbox SET published_at = $1 WHERE task_id = ANY (ARRAY(
             SELECT task_id FROM outbox
             WHERE published_at IS NULL AND seq >= $2 AND seq <= $3 AND seq = ANY ($4::bigint[])
             FOR NO KEY UPDATE SKIP LOCKED
           ))`,
    values: [now, seqs[0], seqs.at(-1), seqs],
  });
}

/**
 * Instances with tasks that were published before `before` and are not finished. From one instance to the next by the index:
 * a hundred thousand tasks that wait for one that is away cost no more than one.
 */
export async function readUnfinished(sql: Sql, before: Date): Promise<WakeUp[]> {
  const found = await sql.query<{ instance_id: string; seq: number }>(
    `WITH RECURSIVE queue AS (
       (SELECT instance_id FROM outbox ORDER BY instance_id, seq LIMIT 1)
       UNION ALL
       SELECT next.instance_id FROM queue CROSS JOIN LATERAL (
         SELECT instance_id FROM outbox WHERE instance_id > queue.instance_id ORDER BY instance_id, seq LIMIT 1) AS next
     )
     SELECT queue.instance_id, newest.seq FROM queue CROSS JOIN LATERAL (
       SELECT seq FROM outbox WHERE instance_id = queue.instance_id AND published_at < $1
       ORDER BY seq DESC LIMIT 1) AS newest`,
    [before],
  );
  return found.rows.map((row) => ({ instanceId: row.instance_id, upToSeq: row.seq }));
}

/**
 * The wake-ups of each broker queue: that of the worker which owns the instance now. To be called after the tasks were read: an
 * owner that comes later reads all tasks of the instance by itself, so one without an owner needs no wake-up. The shard is that
 * of the instance's row; the task's row has the one of its accept.
 */
export async function byQueueOfOwner(sql: Sql, wakeUps: readonly WakeUp[]): Promise<Map<string, WakeUp[]>> {
  const found = await sql.query<{ id: string; shard: number; any_shard: boolean; queue: string | null }>({
    name: 'outbox-find-owners',
    text: `SELECT i.id, i.shard, w.any_shard, w.queue FROM instances i
           JOIN shards s ON s.shard = i.shard JOIN workers w ON w.id = s.owner_id
           WHERE i.id = ANY ($1::uuid[])`,
    values: [wakeUps.map(({ instanceId }) => instanceId)],
  });
  const owners = new Map(found.rows.map((row) => [row.id, row]));
  const byQueue = new Map<string, WakeUp[]>();
  for (const wakeUp of wakeUps) {
    const owner = owners.get(wakeUp.instanceId);
    // An owner without a queue looks at all its instances once it has one.
    const queue = owner && (owner.any_shard ? owner.queue : shardQueue(owner.shard));
    if (!queue) continue;
    const list = byQueue.get(queue);
    if (list) list.push(wakeUp);
    else byQueue.set(queue, [wakeUp]);
  }
  return byQueue;
}
