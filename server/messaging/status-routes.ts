import type { status } from '@posthorn/contract/messaging/status.ts';
import type { RpcDeps } from '@posthorn/core/rpc/request-owner.ts';
import type { SendDeps } from '@posthorn/core/sending/send.ts';
import { findStatus } from '@posthorn/core/status/find-status.ts';
import { listStatus } from '@posthorn/core/status/list-status.ts';
import { listStatusViews } from '@posthorn/core/status/list-views.ts';
import { readStatusPrivacy } from '@posthorn/core/status/read-privacy.ts';
import type { Handlers } from '../http/handler.ts';
import { paged } from '../http/paged.ts';
import { sendHandler } from './send-handler.ts';

/** Status stories (docs/reference/status.md). */
export function statusRoutes(deps: SendDeps & RpcDeps): Handlers<typeof status> {
  return {
    postText: sendHandler(deps, 'status_text'),
    postImage: sendHandler(deps, 'status_image'),
    postVideo: sendHandler(deps, 'status_video'),
    postAudio: sendHandler(deps, 'status_audio'),
    reply: sendHandler(deps, 'status_reply', ({ statusId }) => ({ status_id: statusId })),
    list: async ({ principal, params, query }) => {
      return paged(query, await listStatus(deps, { principal, ...params, ...query }));
    },
    privacy: async ({ principal, params, signal }) => ({
      status: 200,
      body: await readStatusPrivacy(deps, { principal, ...params, signal }),
    }),
    get: async ({ principal, params }) => ({
      status: 200,
      body: await findStatus(deps, { principal, ...params }),
    }),
    views: async ({ principal, params }) => ({
      status: 200,
      body: await listStatusViews(deps, { principal, ...params }),
    }),
  };
}
