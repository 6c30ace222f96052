import type { lids } from '@posthorn/contract/messaging/lids.ts';
import { findLid } from '@posthorn/core/lids/find-lid.ts';
import type { RpcDeps } from '@posthorn/core/rpc/request-owner.ts';
import type { Handlers } from '../http/handler.ts';

/** Anonymous ids (CHT-13). */
export function lidsRoutes(deps: RpcDeps): Handlers<typeof lids> {
  return {
    get: async ({ principal, params, query, signal }) => ({
      status: 200,
      body: await findLid(deps, { principal, ...params, query, signal }),
    }),
  };
}
