import { apiError } from '@posthorn/contract/api-error.ts';
import type { Group, JoinGroupBody } from '@posthorn/contract/messaging/groups.ts';
import type { RpcDeps } from '../rpc/request-owner.ts';
import { requireCapable } from '../rpc/require-capable.ts';
import { askGroup, type GroupCaller, keepAnswer } from './ask-group.ts';
import { readGroup } from './group-rows.ts';
import { codeIn } from './invites.ts';

/** Enters a group by its invite. 400 BAD_REQUEST for an invalid or revoked one, 409 CONFLICT for a full group. */
export async function joinGroup(deps: RpcDeps, input: GroupCaller & { body: JoinGroupBody }): Promise<Group> {
  const { body, ...caller } = input;
  const scope = await requireCapable(deps, caller, 'group_join');
  if ((body.code === undefined) === (body.link === undefined))
    throw apiError('BAD_REQUEST', { message: 'give code or link' });
  const code = codeIn(body.code ?? body.link ?? '');
  if (code === null) throw apiError('BAD_REQUEST', { message: 'the invite is not valid' });
  const joined = (await askGroup(deps, caller, 'group_join', { code })) as { group?: unknown } | null;
  const group = String(joined?.group ?? '');
  const askedAt = deps.clock.now();
  const wasStored = (await readGroup(deps.db, scope.instanceId, group)) !== null;
  const answer = await askGroup(deps, caller, 'group_info', { group });
  return keepAnswer(deps, scope, answer, { askedAt, wasStored });
}
