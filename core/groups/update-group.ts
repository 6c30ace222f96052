import { apiError } from '@posthorn/contract/api-error.ts';
import type { Group, UpdateGroupBody } from '@posthorn/contract/messaging/groups.ts';
import type { RpcDeps } from '../rpc/request-owner.ts';
import { askGroup, type GroupCaller, keepAnswer, requireGroup } from './ask-group.ts';

/** Changes a group's name, description or settings; only what is given. Throws as askGroup does. */
export async function updateGroup(
  deps: RpcDeps,
  input: GroupCaller & { groupJid: string; body: UpdateGroupBody },
): Promise<Group> {
  const { groupJid, body, ...caller } = input;
  const scope = await requireGroup(deps, caller, groupJid, 'group_update');
  if (Object.values(body).every((value) => value === undefined))
    throw apiError('BAD_REQUEST', { message: 'give at least one of name, description, announce, locked' });
  const askedAt = deps.clock.now();
  const answer = await askGroup(deps, caller, 'group_update', { group: groupJid, ...body });
  return keepAnswer(deps, scope, answer, { askedAt, wasStored: true });
}
