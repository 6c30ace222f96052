import type { ScheduledSend } from '@posthorn/contract/messaging/scheduled.ts';
import { requireInstance } from '../access/instance-scope.ts';
import type { Principal } from '../access/principal.ts';
import type { Db } from '../platform/db.ts';
import { oneRow } from '../platform/one-row.ts';
import { offsetOf } from '../platform/paging.ts';

interface Row extends Omit<ScheduledSend, 'send_at' | 'created_at'> {
  send_at: Date;
  created_at: Date;
}

/** The scheduled sends of an instance, the next one first. 404 INSTANCE_NOT_FOUND. */
export async function listScheduled(
  deps: { db: Db },
  input: {
    principal: Principal;
    instanceId: string;
    status?: string | undefined;
    page: number;
    limit: number;
  },
): Promise<{ data: ScheduledSend[]; total: number }> {
  const { instanceId } = await requireInstance(deps.db, input.principal, input.instanceId);
  const filter = [instanceId, input.status ?? null];
  const found = await deps.db.query<Row>(
    `SELECT id, instance_id, type, send_at, status, body, idempotency_key, failed_reason, created_at
     FROM scheduled_sends WHERE instance_id = $1 AND ($2::text IS NULL OR status = $2)
     ORDER BY send_at, id LIMIT $3 OFFSET $4`,
    [...filter, input.limit, offsetOf(input)],
  );
  const counted = await deps.db.query<{ n: number }>(
    `SELECT count(*)::integer AS n FROM scheduled_sends
     WHERE instance_id = $1 AND ($2::text IS NULL OR status = $2)`,
    filter,
  );
  const data = found.rows.map((row) => ({
    ...row,
    send_at: row.send_at.toISOString(),
    created_at: row.created_at.toISOString(),
  }));
  return { data, total: oneRow(counted.rows).n };
}
