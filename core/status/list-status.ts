import type { StatusItem } from '@posthorn/contract/messaging/status.ts';
import { reachOf } from '../access/company-scope.ts';
import type { Principal } from '../access/principal.ts';
import { loadInstance } from '../instances/find-instance.ts';
import type { Db } from '../platform/db.ts';
import type { Orm } from '../platform/orm.ts';
import { STATUS_COLUMNS, type StatusRow, statusItem } from './find-status.ts';

/** The feed of one instance, newest first (STA-6). 404 INSTANCE_NOT_FOUND. */
export async function listStatus(
  deps: { orm: Orm; db: Db },
  input: {
    principal: Principal;
    instanceId: string;
    direction?: 'inbound' | 'outbound' | undefined;
    page: number;
    limit: number;
  },
): Promise<{ data: StatusItem[]; total: number }> {
  const instance = await loadInstance(reachOf(deps.orm, input.principal), input.instanceId);
  const direction = input.direction ?? null;
  const rows = await deps.db.query<StatusRow>(
    `SELECT ${STATUS_COLUMNS} FROM status_feed
     WHERE instance_id = $1 AND ($2::text IS NULL OR direction = $2)
     ORDER BY posted_at DESC, id DESC LIMIT $3 OFFSET $4`,
    [instance.id, direction, input.limit, (input.page - 1) * input.limit],
  );
  // The feed of an instance is what its saved contacts posted: thousands, so the total is counted.
  const total = await deps.db.query<{ n: number }>(
    `SELECT count(*)::integer AS n FROM status_feed
     WHERE instance_id = $1 AND ($2::text IS NULL OR direction = $2)`,
    [instance.id, direction],
  );
  return { data: rows.rows.map(statusItem), total: total.rows[0]!.n };
}
