import type { Sql } from '../platform/database/db.ts';

/** "This instance has work up to this seq": what travels through the broker. */
export interface WakeUp {
  instanceId: string;
  shard: number;
  upToSeq: number;
}

/** A row of the outbox that the broker has not been told of. */
export interface UnpublishedTask {
  seq: number;
  instance_id: string;
  shard: number;
  trace_id: string | null;
}

/** The oldest first, `limit` at most. */
export async function readUnpublished(sql: Sql, limit: number): Promise<UnpublishedTask[]> {
  const found = await sql.query<UnpublishedTask>({
    name: 'outbox-read-unpublished',
    text: 'SELECT seq, instance_id, shard, trace_id FROM outbox WHERE published_at IS NULL ORDER BY seq LIMIT $1',
    values: [limit],
  });
  return found.rows;
}

/** One wake-up for each instance of `tasks`, which ascend by seq: the last one of an instance is its highest. */
export function wakeUpsOf(tasks: readonly UnpublishedTask[]): WakeUp[] {
  const byInstance = new Map<string, WakeUp>();
  for (const { instance_id: instanceId, shard, seq: upToSeq } of tasks)
    byInstance.set(instanceId, { instanceId, shard, upToSeq });
  return [...byInstance.values()];
}

export async function markPublished(sql: Sql, seqs: readonly number[], now: Date): Promise<void> {
  await sql.query({
    name: 'outbox-mark-published',
    // By range as well as by list: the range finds the rows through the partial index, the list keeps
    // out those that were accepted meanwhile with a lower seq.
    text: `UPDATE outbox SET published_at = $1
           WHERE published_at IS NULL AND seq >= $2 AND seq <= $3 AND seq = ANY ($4::bigint[])`,
    values: [now, seqs[0], seqs.at(-1), seqs],
  });
}

/** Instances with tasks that were published before `before` and are not finished. */
export async function readUnfinished(sql: Sql, before: Date): Promise<WakeUp[]> {
  const found = await sql.query<{ instance_id: string; shard: number; seq: number }>(
    `SELECT instance_id, shard, max(seq) AS seq FROM outbox WHERE published_at < $1 GROUP BY instance_id, shard`,
    [before],
  );
  return found.rows.map((row) => ({ instanceId: row.instance_id, shard: row.shard, upToSeq: row.seq }));
}
