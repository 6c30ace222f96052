import type { Lease } from '../instances/hold-leases.ts';
import { SHARD_COUNT } from '../instances/shard.ts';
import type { Sql } from '../platform/db.ts';

/** A question of an API process to the worker that owns an instance. */
export interface RpcRequest {
  id: string;
  instanceId: string;
  op: string;
  args: Record<string, unknown>;
}

export type RpcAnswer = { value: unknown } | { error: string };

export async function insertRequest(
  sql: Sql,
  call: RpcRequest & { shard: number; expiresAt: Date },
): Promise<void> {
  await sql.query(
    `INSERT INTO network_calls (id, instance_id, shard, op, args, expires_at) VALUES ($1, $2, $3, $4, $5, $6)`,
    [call.id, call.instanceId, call.shard, call.op, JSON.stringify(call.args), call.expiresAt],
  );
}

/** The answer, once it is there; it is taken out. */
export async function takeAnswer(sql: Sql, id: string): Promise<RpcAnswer | null> {
  const found = await sql.query<{ answer: unknown; error: string | null }>(
    `DELETE FROM network_calls WHERE id = $1 AND state = 'answered' RETURNING answer, error`,
    [id],
  );
  const row = found.rows[0];
  if (!row) return null;
  return row.error === null ? { value: row.answer } : { error: row.error };
}

/** Nobody waits any more: a question that no worker has taken is never answered. */
export async function dropRequest(sql: Sql, id: string): Promise<void> {
  await sql.query(`DELETE FROM network_calls WHERE id = $1 AND state <> 'taken'`, [id]);
}

/** Takes the questions that wait for the shards of these leases, as far as they stand; each goes to one taker. */
export async function claimRequests(sql: Sql, leases: readonly Lease[], now: Date): Promise<RpcRequest[]> {
  if (leases.length === 0) return [];
  const found = await sql.query<{
    id: string;
    instance_id: string;
    op: string;
    args: Record<string, unknown>;
  }>({
    name: 'rpc-requests-claim',
    text: `UPDATE network_calls SET state = 'taken'
           WHERE id IN (
             SELECT call.id FROM unnest($1::smallint[], $2::bigint[]) AS lease (shard, epoch)
             JOIN shards ON shards.shard = lease.shard AND shards.epoch = lease.epoch
             JOIN network_calls call ON call.shard = lease.shard
             WHERE call.state = 'asked' AND call.expires_at > $3
             LIMIT ${SHARD_COUNT * 8} FOR UPDATE OF call SKIP LOCKED)
           RETURNING id, instance_id, op, args`,
    values: [leases.map((lease) => lease.shard), leases.map((lease) => lease.epoch), now],
  });
  return found.rows.map(({ instance_id, ...call }) => ({ ...call, instanceId: instance_id }));
}

export async function answerRequest(sql: Sql, id: string, answer: RpcAnswer): Promise<void> {
  await sql.query(
    `UPDATE network_calls SET state = 'answered', answer = $2, error = $3 WHERE id = $1 AND state = 'taken'`,
    [
      id,
      'value' in answer ? JSON.stringify(answer.value ?? null) : null,
      'error' in answer ? answer.error : null,
    ],
  );
}

/** What was asked and answered by processes that are gone. */
export async function forgetRequests(sql: Sql, before: Date): Promise<void> {
  await sql.query('DELETE FROM network_calls WHERE expires_at < $1', [before]);
}
