import type { queue } from '@posthorn/contract/messaging/queue.ts';
import type { RpcDeps } from '@posthorn/core/rpc/request-owner.ts';
import { cancelQueued, clearQueue } from '@posthorn/core/sending/cancel-queued.ts';
import { countQueue, listQueue } from '@posthorn/core/sending/list-queue.ts';
import type { Handlers } from '../http/handler.ts';
import { paged } from '../http/paged.ts';

/** The tasks waiting to be sent (SND-46). */
export function queueRoutes(deps: RpcDeps): Handlers<typeof queue> {
  return {
    list: async ({ principal, params, query }) => {
      return paged(query, await listQueue(deps, { principal, ...params, ...query }));
    },
    count: async ({ principal, params }) => ({
      status: 200,
      body: { count: await countQueue(deps, { principal, ...params }) },
    }),
    cancel: async ({ principal, params, signal }) => {
      await cancelQueued(deps, { principal, ...params, signal });
      return { status: 200, body: { task_id: params.taskId, cancelled: true } };
    },
    clear: async ({ principal, params, signal }) => ({
      status: 200,
      body: { cancelled: await clearQueue(deps, { principal, ...params, signal }) },
    }),
  };
}
