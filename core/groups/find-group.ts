import type { Group } from '@posthorn/contract/messaging/groups.ts';
import { requireInstance } from '../access/instance-scope.ts';
import type { RpcDeps } from '../rpc/request-owner.ts';
import { askGroup, type GroupCaller, keepAnswer, notFound } from './ask-group.ts';
import { readGroup } from './group-rows.ts';
import { viewGroup } from './group-view.ts';

/**
 * A group that the instance is in, as the network last reported it; with `refresh` the network is asked first. Throws
 * 404 INSTANCE_NOT_FOUND or NOT_FOUND; with `refresh` as askGroup does.
 */
export async function findGroup(
  deps: RpcDeps,
  input: GroupCaller & { groupJid: string; query: { refresh: boolean } },
): Promise<Group> {
  const { groupJid, query, ...caller } = input;
  const scope = await requireInstance(deps.db, caller.principal, caller.instanceId);
  const askedAt = deps.clock.now();
  const row = await readGroup(deps.db, scope.instanceId, groupJid);
  if (query.refresh) {
    const answer = await askGroup(deps, caller, 'group_info', { group: groupJid });
    return keepAnswer(deps, scope, answer, { askedAt, wasStored: row !== null });
  }
  if (!row) throw notFound();
  return viewGroup(deps.db, scope, row);
}
