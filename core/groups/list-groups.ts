import type { GroupSummary } from '@posthorn/contract/messaging/groups.ts';
import { requireInstance } from '../access/instance-scope.ts';
import { oneRow } from '../platform/database/one-row.ts';
import { offsetOf } from '../platform/database/paging.ts';
import type { RpcDeps } from '../rpc/request-owner.ts';
import type { GroupCaller } from './ask-group.ts';
import { GROUP_COLUMNS, type GroupRow } from './group-rows.ts';
import { viewSummaries } from './group-view.ts';
import { refreshGroups } from './refresh-groups.ts';

/**
 * The groups of an instance by name, as the network told of them; with `refresh` it is asked first. The network bounds
 * how many there are. Throws 404 INSTANCE_NOT_FOUND, with `refresh` as askGroup does.
 */
export async function listGroups(
  deps: RpcDeps,
  input: GroupCaller & { query: { refresh: boolean; page: number; limit: number } },
): Promise<{ data: GroupSummary[]; total: number }> {
  const { query, ...caller } = input;
  const scope = await requireInstance(deps.db, caller.principal, caller.instanceId);
  if (query.refresh) await refreshGroups(deps, caller, scope);
  const rows = await deps.db.query<GroupRow>(
    `SELECT ${GROUP_COLUMNS} FROM chat_groups WHERE instance_id = $1 ORDER BY name, jid LIMIT $2 OFFSET $3`,
    [scope.instanceId, query.limit, offsetOf(query)],
  );
  const total = await deps.db.query<{ n: number }>(
    'SELECT count(*)::integer AS n FROM chat_groups WHERE instance_id = $1',
    [scope.instanceId],
  );
  return { data: await viewSummaries(deps.db, scope, rows.rows), total: oneRow(total.rows).n };
}
