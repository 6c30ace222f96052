import { type ApiError, apiError } from '@posthorn/contract/api-error.ts';
import type { Group } from '@posthorn/contract/messaging/groups.ts';
import type { InstanceScope } from '../access/instance-scope.ts';
import type { Principal } from '../access/principal.ts';
import type { GroupInfo, NetworkActions } from '../network/actions.ts';
import { type RpcDeps, RpcRefused, requestOwner } from '../rpc/request-owner.ts';
import { requireCapable } from '../rpc/require-capable.ts';
import { storableGroup } from './group.ts';
import { type Asked, readGroup, removeGroup, saveGroup } from './group-rows.ts';
import { rowOf, viewGroup } from './group-view.ts';

/** The principal who asks, and the instance. */
export interface GroupCaller {
  principal: Principal;
  instanceId: string;
  signal: AbortSignal;
}

/** The questions about groups. */
type GroupCall = Extract<keyof NetworkActions, `group${string}`>;

const REFUSALS: Record<string, () => ApiError> = {
  group_not_found: notFound,
  not_participant: notFound,
  not_admin: () => apiError('FORBIDDEN', { message: 'the instance is not an admin of the group' }),
  invite_invalid: () => apiError('BAD_REQUEST', { message: 'the invite is not valid, or was revoked' }),
  group_full: () => apiError('CONFLICT', { message: 'the group is full' }),
};

/** One that is not there and one that the account is not in are the same. */
export function notFound(): ApiError {
  return apiError('NOT_FOUND', { message: 'group not found' });
}

/**
 * The instance, and that it is in this group, of which `op` is to be asked. 404 INSTANCE_NOT_FOUND or NOT_FOUND, by
 * what is missing or foreign; 501 NOT_IMPLEMENTED.
 */
export async function requireGroup(
  deps: RpcDeps,
  caller: GroupCaller,
  jid: string,
  op: GroupCall,
): Promise<InstanceScope> {
  const scope = await requireCapable(deps, caller, op);
  if (!(await readGroup(deps.db, scope.instanceId, jid))) throw notFound();
  return scope;
}

/**
 * Asks the network something about groups. Throws as requestOwner does; what the network refuses: 404 NOT_FOUND, 403
 * FORBIDDEN, 400 BAD_REQUEST (an invite), 409 CONFLICT (a full group), 502 SEND_FAILED.
 */
export async function askGroup<Op extends GroupCall>(
  deps: RpcDeps,
  caller: GroupCaller,
  op: Op,
  args: NetworkActions[Op]['args'],
): Promise<unknown> {
  const askedAt = deps.clock.now();
  try {
    return await requestOwner(deps, { ...caller, op, args });
  } catch (cause) {
    if (!(cause instanceof RpcRefused)) throw cause;
    // The account was taken out of it, and no fact told so yet.
    if (cause.reason === 'not_participant' && 'group' in args)
      await removeGroup(deps.db, caller.instanceId, args.group, askedAt);
    throw REFUSALS[cause.reason]?.() ?? apiError('SEND_FAILED', { cause });
  }
}

/** Parses a group in an answer of the network. Throws 502 SEND_FAILED for an answer that is no group. */
export function parseGroup(answer: unknown): GroupInfo {
  const parsed = storableGroup.safeParse(answer);
  if (!parsed.success) throw apiError('SEND_FAILED', { cause: parsed.error });
  return parsed.data;
}

/** Keeps what the network answered about a group, and shows it. */
export async function keepAnswer(
  deps: RpcDeps,
  scope: InstanceScope,
  answer: unknown,
  asked: Asked,
): Promise<Group> {
  const group = parseGroup(answer);
  await saveGroup(deps.db, scope, group, asked);
  return viewGroup(deps.db, scope, rowOf(group, asked.askedAt));
}
