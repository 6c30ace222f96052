import type { StatusItem } from '@posthorn/contract/messaging/status.ts';
import { requireInstance } from '../access/instance-scope.ts';
import type { Principal } from '../access/principal.ts';
import type { Db } from '../platform/database/db.ts';
import { oneRow } from '../platform/database/one-row.ts';
import { fitsSql, offsetOf } from '../platform/database/paging.ts';
import { STATUS_COLUMNS, type StatusRow, statusItems } from './find-status.ts';

/** The feed of one instance, newest first (STA-6). 404 INSTANCE_NOT_FOUND. */
export async function listStatus(
  deps: { db: Db },
  input: {
    principal: Principal;
    instanceId: string;
    direction?: 'inbound' | 'outbound' | undefined;
    page: number;
    limit: number;
  },
): Promise<{ data: StatusItem[]; total: number }> {
  const { instanceId } = await requireInstance(deps.db, input.principal, input.instanceId);
  const direction = input.direction ?? null;
  const rows = await deps.db.query<StatusRow>(
    `SELECT ${STATUS_COLUMNS.replace('content', "CASE WHEN fits THEN content ELSE '' END AS content")}, NOT fits AS is_omitted
     FROM (
       SELECT page.*, ${fitsSql('octet_length(content)', 'posted_at DESC, id DESC')} AS fits
       FROM (
         SELECT * FROM status_feed WHERE instance_id = $1 AND ($2::text IS NULL OR direction = $2)
         ORDER BY posted_at DESC, id DESC LIMIT $3 OFFSET $4
       ) AS page
     ) AS sized
     ORDER BY posted_at DESC, id DESC`,
    [instanceId, direction, input.limit, offsetOf(input)],
  );
  // The feed of an instance is what its saved contacts posted: thousands, so the total is counted.
  const total = await deps.db.query<{ n: number }>(
    `SELECT count(*)::integer AS n FROM status_feed
     WHERE instance_id = $1 AND ($2::text IS NULL OR direction = $2)`,
    [instanceId, direction],
  );
  return { data: await statusItems(deps.db, instanceId, rows.rows), total: oneRow(total.rows).n };
}
