import { apiError } from '@posthorn/contract/api-error.ts';
import type { BusinessProfile } from '@posthorn/contract/messaging/business.ts';
import { askNetwork } from '../rpc/ask-network.ts';
import type { RpcDeps } from '../rpc/request-owner.ts';
import { type BusinessCaller, businessOf } from './ask-business.ts';
import { businessAnswer } from './network-answers.ts';

const REFUSALS = {
  not_a_business: () => apiError('NOT_FOUND', { message: 'this is not a business account' }),
};

/**
 * The profile that a business has published (CHT-8). Throws 404 NOT_FOUND for an account that is no business; otherwise
 * as askNetwork does.
 */
export async function readBusinessProfile(
  deps: RpcDeps,
  input: BusinessCaller & { query: { jid: string } },
): Promise<BusinessProfile> {
  const { query, ...caller } = input;
  const { jid } = await businessOf(deps, caller, query.jid);
  const request = { ...caller, op: 'business_profile', args: { jid } } as const;
  return askNetwork(deps, request, businessAnswer, REFUSALS);
}
