import type { Sql } from '../platform/database/db.ts';

/** The tasks that an instance queue has handled: all up to this seq. */
export interface Handled {
  instanceId: string;
  seq: number;
}

/**
 * The instance queues among these that have unhandled tasks, and up to which seq. One probe of an
 * index for each of them, however long the queues are.
 */
export async function findWaiting(sql: Sql, queues: readonly Handled[]): Promise<Handled[]> {
  if (queues.length === 0) return [];
  const found = await sql.query<{ instance_id: string; seq: number }>({
    name: 'outbox-find-waiting',
    text: `SELECT queue.instance_id, newest.seq FROM unnest($1::uuid[], $2::bigint[]) AS queue (instance_id, seq)
           CROSS JOIN LATERAL (
             SELECT o.seq FROM outbox o WHERE o.instance_id = queue.instance_id AND o.seq > queue.seq
             ORDER BY o.seq DESC LIMIT 1) newest`,
    values: [queues.map((queue) => queue.instanceId), queues.map((queue) => queue.seq)],
  });
  return found.rows.map((row) => ({ instanceId: row.instance_id, seq: row.seq }));
}
