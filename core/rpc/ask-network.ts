import { type ApiError, apiError } from '@posthorn/contract/api-error.ts';
import { z } from 'zod/v4';
import { type InstanceScope, requireInstance } from '../access/instance-scope.ts';
import type { Principal } from '../access/principal.ts';
import { requireAbility } from '../instances/driver-abilities.ts';
import { oneRow } from '../platform/one-row.ts';
import { type OwnerRequest, type RpcDeps, RpcRefused, requestOwner } from './request-owner.ts';

/** By the network's reason: what the caller is told. */
export type Refusals = Readonly<Record<string, () => ApiError>>;

/** What a change of the account's own state is answered with. */
const changed = z.object({ revision: z.int() });

/**
 * An instance whose network can do this, before anything else is looked up. Throws 404 INSTANCE_NOT_FOUND and 501
 * NOT_IMPLEMENTED.
 */
export async function requireAbleInstance(
  deps: Pick<RpcDeps, 'db'>,
  input: { principal: Principal; instanceId: string },
  op: string,
): Promise<InstanceScope> {
  const scope = await requireInstance(deps.db, input.principal, input.instanceId);
  const found = await deps.db.query<{ driver: string }>('SELECT driver FROM instances WHERE id = $1', [
    scope.instanceId,
  ]);
  await requireAbility(deps.db, oneRow(found.rows).driver, op);
  return scope;
}

/** Has the network make a change that the account's devices share, and gives its revision. Throws as {@link askNetwork}. */
export async function askForChange(
  deps: RpcDeps,
  request: OwnerRequest,
  refusals: Refusals = {},
): Promise<number> {
  return (await askNetwork(deps, request, changed, refusals)).revision;
}

/**
 * Asks the network through the owner of the instance, and parses what it answers: names and texts are those of strangers.
 * `refusals` gives the error of each reason that it may refuse for; any other reason, and an answer of another
 * shape, is 502 SEND_FAILED. Throws as requestOwner does.
 */
export async function askNetwork<S extends z.ZodType>(
  deps: RpcDeps,
  request: OwnerRequest,
  answerShape: S,
  refusals: Refusals = {},
): Promise<z.output<S>> {
  let answer: unknown;
  try {
    answer = await requestOwner(deps, request);
  } catch (cause) {
    if (!(cause instanceof RpcRefused)) throw cause;
    throw refusals[cause.reason]?.() ?? apiError('SEND_FAILED', { cause });
  }
  const parsed = answerShape.safeParse(answer);
  if (!parsed.success) throw apiError('SEND_FAILED', { cause: parsed.error });
  return parsed.data;
}
