import { apiError } from '@posthorn/contract/api-error.ts';
import type { MessageTemplateList } from '@posthorn/contract/messaging/templates.ts';
import type { Principal } from '../access/principal.ts';
import { askNetwork } from '../rpc/ask-network.ts';
import type { RpcDeps } from '../rpc/request-owner.ts';
import { pageAnswer } from './network-answers.ts';

/** The principal who asks, and the instance. */
export interface TemplateCaller {
  principal: Principal;
  instanceId: string;
  signal: AbortSignal;
}

interface Query {
  limit: number;
  cursor?: string | undefined;
  name?: string | undefined;
  status?: string | undefined;
}

/** A page of the account's templates. Throws 400 BAD_REQUEST for an invalid cursor; otherwise as askNetwork does. */
export async function listTemplates(
  deps: RpcDeps,
  { query, ...caller }: TemplateCaller & { query: Query },
): Promise<MessageTemplateList> {
  const { limit, cursor, name, status } = query;
  const args = {
    limit,
    ...(cursor === undefined ? {} : { cursor }),
    ...(name === undefined ? {} : { name }),
    ...(status === undefined ? {} : { status }),
  };
  const request = { ...caller, op: 'template_list', args } as const;
  const { templates, next_cursor } = await askNetwork(deps, request, pageAnswer, {
    cursor_invalid: () => apiError('BAD_REQUEST', { message: 'cursor: is not a cursor of this list' }),
    rate_limited: () => apiError('RATE_LIMITED'),
  });
  return { templates, ...(next_cursor === null ? {} : { next_page_cursor: next_cursor }) };
}
