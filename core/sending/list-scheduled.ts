import { LIST_PAGE_MAX_BYTES } from '@posthorn/contract/limits.ts';
import type { ScheduledSend } from '@posthorn/contract/messaging/scheduled.ts';
import { requireInstance } from '../access/instance-scope.ts';
import type { Principal } from '../access/principal.ts';
import type { Db } from '../platform/database/db.ts';
import { oneRow } from '../platform/database/one-row.ts';
import { fittingSql, offsetOf } from '../platform/database/paging.ts';

interface Row extends Omit<ScheduledSend, 'send_at' | 'created_at' | 'body' | 'body_omitted'> {
  /** Null: the page has no room for it. */
  body: ScheduledSend['body'] | null;
  send_at: Date;
  created_at: Date;
}

// Pages have numbers, so none is shortened: the next one would begin behind rows that nobody saw.
const LIST = `
WITH RECURSIVE page AS MATERIALIZED (
  SELECT id, send_at, created_at FROM scheduled_sends WHERE instance_id = $1 AND ($2::text IS NULL OR status = $2)
  ORDER BY send_at, created_at, id LIMIT $3 OFFSET $4
), listed AS MATERIALIZED (
  SELECT array_agg(id ORDER BY send_at, created_at, id) AS ids FROM page
), ${fittingSql({
  table: 'scheduled_sends',
  column: 'body',
  ids: '(SELECT ids FROM listed)',
  maxBytes: String(LIST_PAGE_MAX_BYTES),
})}
SELECT s.id, s.instance_id, s.type, s.send_at, s.status, s.idempotency_key, s.failed_reason, s.created_at,
  CASE WHEN f.id IS NOT NULL THEN s.body END AS body
FROM page JOIN scheduled_sends s ON s.id = page.id LEFT JOIN fitting f ON f.id = s.id
ORDER BY s.send_at, s.created_at, s.id`;

/** The scheduled sends of an instance, the next one first, with bodies as far as LIM-10 goes. 404 INSTANCE_NOT_FOUND. */
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
  const found = await deps.db.query<Row>(LIST, [...filter, input.limit, offsetOf(input)]);
  const counted = await deps.db.query<{ n: number }>(
    `SELECT count(*)::integer AS n FROM scheduled_sends
     WHERE instance_id = $1 AND ($2::text IS NULL OR status = $2)`,
    filter,
  );
  const data = found.rows.map(({ body, ...row }) => ({
    ...row,
    ...(body === null ? { body: {}, body_omitted: true as const } : { body }),
    send_at: row.send_at.toISOString(),
    created_at: row.created_at.toISOString(),
  }));
  return { data, total: oneRow(counted.rows).n };
}
