import { type ApiError, apiError } from '@posthorn/contract/api-error.ts';
import { z } from 'zod/v4';
import type { NetworkActions } from '../network/actions.ts';
import { type OwnerRequest, type RpcDeps, RpcRefused, requestOwner } from './request-owner.ts';

/** By the network's reason: what the caller is told. */
export type Refusals = Readonly<Record<string, () => ApiError>>;

/** The questions that change state which the account's devices share. */
type ChangeCall = {
  [Op in keyof NetworkActions]: NetworkActions[Op]['answer'] extends { revision: number } ? Op : never;
}[keyof NetworkActions];

/** The answer to a change of the account's own state. */
const changed = z.object({ revision: z.int() });

/** Has the network make a change that the account's devices share, and gives its revision. Throws as {@link askNetwork}. */
export async function askForChange<Op extends ChangeCall>(
  deps: RpcDeps,
  request: OwnerRequest<Op>,
  refusals: Refusals = {},
): Promise<number> {
  return (await askNetwork(deps, request, changed, refusals)).revision;
}

/**
 * Asks the network through the owner of the instance, and parses what it answers: names and texts are those of strangers.
 * `refusals` gives the error of each reason that it may refuse for; any other reason, and an answer of another
 * shape, is 502 SEND_FAILED. Throws as requestOwner does.
 */
export async function askNetwork<Op extends keyof NetworkActions, S extends z.ZodType>(
  deps: RpcDeps,
  request: OwnerRequest<Op>,
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
