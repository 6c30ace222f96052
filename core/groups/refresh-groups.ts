import { apiError } from '@posthorn/contract/api-error.ts';
import { z } from 'zod/v4';
import type { InstanceScope } from '../access/instance-scope.ts';
import { lockDeviceState } from '../instances/device-state.ts';
import type { RpcDeps } from '../rpc/request-owner.ts';
import { askGroup, type GroupCaller } from './ask-group.ts';
import { storableGroup } from './group.ts';
import { saveGroup } from './group-rows.ts';

/** Asks the network which groups the account is in, and keeps them and no others. Throws as askGroup does. */
export async function refreshGroups(deps: RpcDeps, caller: GroupCaller, scope: InstanceScope): Promise<void> {
  const askedAt = deps.clock.now();
  const stored = await deps.db.query<{ jid: string }>('SELECT jid FROM chat_groups WHERE instance_id = $1', [
    scope.instanceId,
  ]);
  const before = new Set(stored.rows.map((row) => row.jid));
  const answer = z.array(z.unknown()).safeParse(await askGroup(deps, caller, 'groups_list', {}));
  if (!answer.success) throw apiError('SEND_FAILED', { cause: answer.error });
  const groups = answer.data.flatMap((group) => {
    const parsed = storableGroup.safeParse(group);
    return parsed.success ? [parsed.data] : [];
  });
  await deps.db.transaction(async (sql) => {
    await lockDeviceState(sql, scope.instanceId);
    for (const group of groups)
      await saveGroup(sql, scope, group, { askedAt, wasStored: before.has(group.jid) });
    await sql.query(
      'DELETE FROM chat_groups WHERE instance_id = $1 AND told_at <= $2 AND NOT (jid = ANY ($3::text[]))',
      [scope.instanceId, askedAt, groups.map(({ jid }) => jid)],
    );
  });
}
