import type { labels } from '@posthorn/contract/messaging/labels.ts';
import { deleteLabel, updateLabel } from '@posthorn/core/labels/change-label.ts';
import { createLabel } from '@posthorn/core/labels/create-label.ts';
import { listLabelChats, listLabels } from '@posthorn/core/labels/list-labels.ts';
import { labelChat, labelMessage } from '@posthorn/core/labels/put-label.ts';
import type { RpcDeps } from '@posthorn/core/rpc/request-owner.ts';
import type { Handlers } from '../http/handler.ts';

/** Labels on chats and messages (docs/reference/labels-chats.md). */
export function labelsRoutes(deps: RpcDeps): Handlers<typeof labels> {
  return {
    create: async ({ principal, params, body, signal }) => ({
      status: 201,
      body: await createLabel(deps, { principal, ...params, body, signal }),
    }),
    list: async ({ principal, params }) => ({
      status: 200,
      body: await listLabels(deps, { principal, ...params }),
    }),
    update: async ({ principal, params, body, signal }) => ({
      status: 200,
      body: await updateLabel(deps, { principal, ...params, body, signal }),
    }),
    remove: async ({ principal, params, signal }) => {
      await deleteLabel(deps, { principal, ...params, signal });
      return { status: 204 };
    },
    listChats: async ({ principal, params }) => ({
      status: 200,
      body: await listLabelChats(deps, { principal, ...params }),
    }),
    addToChat: async ({ principal, params, signal }) => ({
      status: 200,
      body: await labelChat(deps, { principal, ...params, associated: true, signal }),
    }),
    removeFromChat: async ({ principal, params, signal }) => ({
      status: 200,
      body: await labelChat(deps, { principal, ...params, associated: false, signal }),
    }),
    addToMessage: async ({ principal, params, signal }) => ({
      status: 200,
      body: await labelMessage(deps, { principal, ...params, associated: true, signal }),
    }),
    removeFromMessage: async ({ principal, params, signal }) => ({
      status: 200,
      body: await labelMessage(deps, { principal, ...params, associated: false, signal }),
    }),
  };
}
