import { apiError } from '@posthorn/contract/api-error.ts';
import type { messages } from '@posthorn/contract/messaging/messages.ts';
import { requireInstance } from '@posthorn/core/access/instance-scope.ts';
import type { Principal } from '@posthorn/core/access/principal.ts';
import { pinMessage, starMessage, votePoll } from '@posthorn/core/messages/act-on-message.ts';
import { findMessage } from '@posthorn/core/messages/find-message.ts';
import { listMessages } from '@posthorn/core/messages/list-messages.ts';
import type { RpcDeps } from '@posthorn/core/rpc/request-owner.ts';
import type { SendDeps } from '@posthorn/core/sending/send.ts';
import type { Handlers } from '../http/handler.ts';
import { changeHandler, sendHandler } from './send-handler.ts';

export type MessagesRoutesDeps = SendDeps & RpcDeps;

/** Sending, changing and reading messages (docs/reference/sending.md). */
export function messagesRoutes(deps: MessagesRoutesDeps): Handlers<typeof messages> {
  const disabled = async ({
    principal,
    params,
  }: {
    principal: Principal;
    params: { instanceId: string };
  }) => {
    await requireInstance(deps.db, principal, params.instanceId);
    throw apiError('INTERACTIVE_DISABLED');
  };
  return {
    sendText: sendHandler(deps, 'text'),
    sendImage: sendHandler(deps, 'image'),
    sendVideo: sendHandler(deps, 'video'),
    sendAudio: sendHandler(deps, 'audio'),
    sendDocument: sendHandler(deps, 'document'),
    sendSticker: sendHandler(deps, 'sticker'),
    sendPtv: sendHandler(deps, 'ptv'),
    sendGif: sendHandler(deps, 'gif'),
    sendLocation: sendHandler(deps, 'location'),
    sendContact: sendHandler(deps, 'contact'),
    sendReaction: sendHandler(deps, 'reaction'),
    sendPoll: sendHandler(deps, 'poll'),
    sendTemplate: sendHandler(deps, 'template'),
    sendList: sendHandler(deps, 'list'),
    sendLinkButton: sendHandler(deps, 'link_button'),
    sendApprovedTemplate: sendHandler(deps, 'approved_template'),
    sendLinkPreview: sendHandler(deps, 'link_preview'),
    sendEvent: sendHandler(deps, 'event'),
    forward: sendHandler(deps, 'forward'),
    remove: changeHandler(deps, 'delete', ({ messageId }) => ({ path_id: messageId })),
    edit: changeHandler(deps, 'edit', ({ messageId }) => ({ message_id: messageId })),
    sendButton: disabled,
    sendButtonPix: disabled,
    sendButtonOtp: disabled,
    sendOptionList: disabled,
    pin: async ({ principal, params, body, signal }) => ({
      status: 200,
      body: await pinMessage(deps, { principal, ...params, body, signal }),
    }),
    votePoll: async ({ principal, params, body, signal }) => ({
      status: 200,
      body: await votePoll(deps, { principal, ...params, body, signal }),
    }),
    star: async ({ principal, params, body, signal }) => ({
      status: 200,
      body: await starMessage(deps, { principal, ...params, body, signal }),
    }),
    list: async ({ principal, params, query }) => {
      const { data, nextCursor } = await listMessages(deps, { principal, ...params, filter: query });
      return { status: 200, body: { data, next_cursor: nextCursor } };
    },
    get: async ({ principal, params }) => ({
      status: 200,
      body: await findMessage(deps, { principal, ...params }),
    }),
  };
}
