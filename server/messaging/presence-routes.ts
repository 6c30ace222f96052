import type { presence } from '@posthorn/contract/messaging/presence.ts';
import { setPresence, subscribePresence } from '@posthorn/core/presence/set-presence.ts';
import type { RpcDeps } from '@posthorn/core/rpc/request-owner.ts';
import type { Handlers } from '../http/handler.ts';

/** Presence (CHT-7). */
export function presenceRoutes(deps: RpcDeps): Handlers<typeof presence> {
  return {
    set: async ({ principal, params, body, signal }) => ({
      status: 200,
      body: await setPresence(deps, { principal, ...params, body, signal }),
    }),
    subscribe: async ({ principal, params, signal }) => ({
      status: 200,
      body: await subscribePresence(deps, { principal, ...params, signal }),
    }),
  };
}
