import type { GroupLeft } from '@posthorn/contract/messaging/groups.ts';
import type { RpcDeps } from '../rpc/request-owner.ts';
import { askGroup, type GroupCaller, requireGroup } from './ask-group.ts';
import { removeGroup } from './group-rows.ts';

/** Leaves a group. Throws as askGroup does. */
export async function leaveGroup(
  deps: RpcDeps,
  input: GroupCaller & { groupJid: string },
): Promise<GroupLeft> {
  const { groupJid, ...caller } = input;
  await requireGroup(deps, caller, groupJid, 'group_leave');
  const askedAt = deps.clock.now();
  await askGroup(deps, caller, 'group_leave', { group: groupJid });
  await removeGroup(deps.db, caller.instanceId, groupJid, askedAt);
  return { jid: groupJid, left: true };
}
