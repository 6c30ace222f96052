import type { Lease } from '../instances/lock-leases.ts';
import type { Sql } from '../platform/database/db.ts';
import type { OwnerCall, OwnerCalls } from './owner-calls.ts';

/** At most so many at a time. */
const CLAIMED_MAX = 256;

/** A request of an API process to the worker that owns an instance, with the shard in which it is. */
export type RpcRequest = {
  [Op in OwnerCall]: { id: string; instanceId: string; shard: number; op: Op; args: OwnerCalls[Op]['args'] };
}[OwnerCall];

export type RpcAnswer = { value: unknown } | { error: string };

export async function insertRequest(
  sql: Sql,
  request: {
    id: string;
    instanceId: string;
    shard: number;
    op: OwnerCall;
    args: OwnerCalls[OwnerCall]['args'];
    expiresAt: Date;
  },
): Promise<void> {
  await sql.query(
    `INSERT INTO network_calls (id, instance_id, shard, op, args, expires_at) VALUES ($1, $2, $3, $4, $5, $6)`,
    [
      request.id,
      request.instanceId,
      request.shard,
      request.op,
      JSON.stringify(request.args),
      request.expiresAt,
    ],
  );
}

/**
 * Asks the owners of a company's instances to cancel what is queued now, in the transaction of whoever wants it; nobody
 * waits for the answers. Gives the number of tasks.
 */
export async function requestCancels(
  sql: Sql,
  input: { companyId: number; expiresAt: Date },
): Promise<number> {
  const { rows } = await sql.query<{ tasks: number }>(
    `WITH asked AS (
       INSERT INTO network_calls (id, instance_id, shard, op, args, expires_at)
       SELECT gen_random_uuid(), i.id, i.shard, 'cancel', jsonb_build_object('task_ids', jsonb_agg(task.task_id)), $2
       FROM instances i JOIN outbox task ON task.instance_id = i.id
       WHERE i.company_id = $1 GROUP BY i.id
       RETURNING shard, jsonb_array_length(args -> 'task_ids') AS tasks)
     SELECT tasks, pg_notify('calls', shard::text) FROM asked`,
    [input.companyId, input.expiresAt],
  );
  return rows.reduce((sum, row) => sum + row.tasks, 0);
}

/** The answer, once it is there; its row goes. */
export async function claimAnswer(sql: Sql, id: string): Promise<RpcAnswer | null> {
  const found = await sql.query<{ answer: unknown; error: string | null }>(
    `DELETE FROM network_calls WHERE id = $1 AND state = 'answered' RETURNING answer, error`,
    [id],
  );
  const row = found.rows[0];
  if (!row) return null;
  return row.error === null ? { value: row.answer } : { error: row.error };
}

/** Nobody waits any more: a request that no worker has claimed is never answered. */
export async function dropRequest(sql: Sql, id: string): Promise<void> {
  await sql.query(`DELETE FROM network_calls WHERE id = $1 AND state <> 'taken'`, [id]);
}

/**
 * Claims the requests that wait for the shards of these leases, as far as they stand; each goes to one claimer. The shard is
 * that of the instance now: it may have moved since the request was written. Few wait at any time, of all shards.
 */
export async function claimRequests(sql: Sql, leases: readonly Lease[], now: Date): Promise<RpcRequest[]> {
  if (leases.length === 0) return [];
  const found = await sql.query<Omit<RpcRequest, 'instanceId'> & { instance_id: string }>({
    name: 'rpc-requests-claim',
    text: `WITH mine AS MATERIALIZED (
             SELECT request.id, i.shard FROM network_calls request
             JOIN instances i ON i.id = request.instance_id
             JOIN unnest($1::smallint[], $2::bigint[]) AS lease (shard, epoch) ON lease.shard = i.shard
             JOIN shards ON shards.shard = lease.shard AND shards.epoch = lease.epoch
             WHERE request.state = 'asked' AND request.expires_at > $3
             LIMIT ${CLAIMED_MAX} FOR UPDATE OF request SKIP LOCKED)
           UPDATE network_calls call SET state = 'taken' FROM mine WHERE call.id = mine.id
           RETURNING call.id, call.instance_id, mine.shard, call.op, call.args`,
    values: [leases.map((lease) => lease.shard), leases.map((lease) => lease.epoch), now],
  });
  // A name that an API process of another version wrote: the worker that is asked refuses it.
  return found.rows.map(
    ({ instance_id, ...request }) => ({ ...request, instanceId: instance_id }) as RpcRequest,
  );
}

export async function answerRequest(sql: Sql, id: string, answer: RpcAnswer): Promise<void> {
  await sql.query(
    `UPDATE network_calls SET state = 'answered', answer = $2, error = $3 WHERE id = $1 AND state = 'taken'`,
    [
      id,
      'value' in answer ? JSON.stringify(answer.value ?? null, storable) : null,
      'error' in answer ? answer.error : null,
    ],
  );
}

/** Names that strangers chose may hold what PostgreSQL does not take in JSON. */
function storable(_key: string, value: unknown): unknown {
  return typeof value === 'string' ? value.toWellFormed().replaceAll('\u0000', '\ufffd') : value;
}

/** Deletes questions and answers of processes that are gone. */
export async function forgetRequests(sql: Sql, before: Date): Promise<void> {
  await sql.query('DELETE FROM network_calls WHERE expires_at < $1', [before]);
}
