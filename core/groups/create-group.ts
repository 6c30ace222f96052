import { apiError } from '@posthorn/contract/api-error.ts';
import type { CreateGroupBody, GroupCreated } from '@posthorn/contract/messaging/groups.ts';
import { requireInstance } from '../access/instance-scope.ts';
import type { RpcDeps } from '../rpc/request-owner.ts';
import { askGroup, type GroupCaller, keepAnswer } from './ask-group.ts';
import { refusalsOf } from './refusals.ts';

/** Makes a group with these people; whom the network did not add is told, and may be invited. Throws as askGroup does. */
export async function createGroup(
  deps: RpcDeps,
  input: GroupCaller & { body: CreateGroupBody },
): Promise<GroupCreated> {
  const { body, ...caller } = input;
  const scope = await requireInstance(deps.db, caller.principal, caller.instanceId);
  const askedAt = deps.clock.now();
  const { name, participants } = body;
  const answer = await askGroup(deps, caller, 'group_create', {
    name,
    participants: [...new Set(participants)],
  });
  const { group, refused } = (answer ?? {}) as { group?: unknown; refused?: unknown };
  if (group === undefined) throw apiError('SEND_FAILED', { cause: 'the network answered without a group' });
  const kept = await keepAnswer(deps, scope, group, { askedAt, wasStored: false });
  return { ...kept, refused: [...refusalsOf(refused)].map(([jid, reason]) => ({ jid, reason })) };
}
