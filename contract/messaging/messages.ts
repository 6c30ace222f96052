// long: the routes of one resource, which are read together
import type { AppRouter } from '@ts-rest/core';
import { z } from 'zod/v4';
import { chatRef, integerQuery, uuid } from '../fields.ts';
import { LIST_LIMIT } from '../limits.ts';
import { MESSAGE_TYPES } from '../message-types.ts';
import { c, route } from '../route-meta.ts';
import {
  audioBody,
  documentBody,
  gifBody,
  imageBody,
  ptvBody,
  stickerBody,
  videoBody,
} from './media-bodies.ts';
import { changeAccepted, message, messageStatus, sendAccepted } from './message.ts';
import { pinBody, pinDone, starBody, starDone, voteBody, voteDone } from './message-actions.ts';
import { sendApprovedTemplateBody, sendLinkButtonBody, sendListBody } from './official-bodies.ts';
import {
  deleteMessageBody,
  editMessageBody,
  sendContactBody,
  sendEventBody,
  sendForwardBody,
  sendLinkPreviewBody,
  sendLocationBody,
  sendPollBody,
  sendReactionBody,
  sendTemplateBody,
  sendTextBody,
} from './send-bodies.ts';

const INSTANCE = '/v1/instances/:instanceId' as const;

/** Errors of every asynchronous send before it is queued. */
export const SEND_ERRORS = [
  'INVALID_PHONE',
  'INVALID_RECIPIENT',
  'MESSAGE_NOT_FOUND',
  'INSTANCE_NOT_CONNECTED',
  'INSTANCE_BANNED',
  'INSTANCE_HARD_PAUSED',
  'PASSIVE_MODE_ENABLED',
  'CONVERSATION_WINDOW_CLOSED',
  'BLOCKED_DUPLICATE_CONTENT',
  'BLOCKED_NO_RECIPROCITY',
  'BLOCKED_TEMPERATURE_LIMIT',
] as const;

/** Errors that a send with media adds. NOT_FOUND is an unknown media_id. */
export const MEDIA_SEND_ERRORS = [
  ...SEND_ERRORS,
  'NOT_FOUND',
  'MEDIA_FETCH_FAILED',
  'MEDIA_TOO_LARGE',
  'PLAN_LIMIT_REACHED',
  'UNSUPPORTED_MEDIA_TYPE',
] as const;

/** Errors of an action that the network answers at once. */
const ACTION_ERRORS = [
  'INVALID_PHONE',
  'INVALID_RECIPIENT',
  'MESSAGE_NOT_FOUND',
  'INSTANCE_NOT_CONNECTED',
  'INSTANCE_BANNED',
  'INSTANCE_HARD_PAUSED',
  'SEND_FAILED',
  'NOT_IMPLEMENTED',
] as const;

const QUEUED =
  'Answers 202 once the send is durably queued. A repeated Idempotency-Key returns the same message_id and task_id with the current state and the header Idempotent-Replayed: true.';
const FROM_MEDIA = `Takes exactly one source: media_url, media_id, media_base64, or a file in a multipart form. ${QUEUED}`;

const SEND = { auth: 'any', access: 'all', notFound: 'INSTANCE_NOT_FOUND', errors: SEND_ERRORS } as const;
const SEND_MEDIA = { ...SEND, errors: MEDIA_SEND_ERRORS, raw: 'multipart', description: FROM_MEDIA } as const;
const ACTION = { auth: 'any', access: 'all', notFound: 'INSTANCE_NOT_FOUND', errors: ACTION_ERRORS } as const;
const ACCEPTED = { 202: sendAccepted };

const OFF = {
  auth: 'any',
  access: 'all',
  notFound: 'INSTANCE_NOT_FOUND',
  errors: ['INTERACTIVE_DISABLED'],
  description: 'Disabled: always answers 403 INTERACTIVE_DISABLED.',
} as const;

/** Sending and reading messages. `operation` is the word of the table of sends in core. */
export const messages = {
  sendText: route(
    { ...SEND, operation: 'text', summary: 'Send a text', description: QUEUED },
    { method: 'POST', path: `${INSTANCE}/messages/text`, body: sendTextBody, responses: ACCEPTED },
  ),
  sendImage: route(
    { ...SEND_MEDIA, operation: 'image', summary: 'Send an image' },
    { method: 'POST', path: `${INSTANCE}/messages/image`, body: imageBody.json, responses: ACCEPTED },
  ),
  sendVideo: route(
    { ...SEND_MEDIA, operation: 'video', summary: 'Send a video' },
    { method: 'POST', path: `${INSTANCE}/messages/video`, body: videoBody.json, responses: ACCEPTED },
  ),
  sendAudio: route(
    { ...SEND_MEDIA, operation: 'audio', summary: 'Send a voice note or other audio' },
    { method: 'POST', path: `${INSTANCE}/messages/audio`, body: audioBody.json, responses: ACCEPTED },
  ),
  sendDocument: route(
    { ...SEND_MEDIA, operation: 'document', summary: 'Send a document' },
    { method: 'POST', path: `${INSTANCE}/messages/document`, body: documentBody.json, responses: ACCEPTED },
  ),
  sendSticker: route(
    { ...SEND_MEDIA, operation: 'sticker', summary: 'Send a sticker' },
    { method: 'POST', path: `${INSTANCE}/messages/sticker`, body: stickerBody.json, responses: ACCEPTED },
  ),
  sendPtv: route(
    { ...SEND_MEDIA, operation: 'ptv', summary: 'Send a round video (PTV)' },
    { method: 'POST', path: `${INSTANCE}/messages/ptv`, body: ptvBody.json, responses: ACCEPTED },
  ),
  sendGif: route(
    { ...SEND_MEDIA, operation: 'gif', summary: 'Send a looping animation' },
    { method: 'POST', path: `${INSTANCE}/messages/gif`, body: gifBody.json, responses: ACCEPTED },
  ),
  sendLocation: route(
    { ...SEND, operation: 'location', summary: 'Send a location', description: QUEUED },
    { method: 'POST', path: `${INSTANCE}/messages/location`, body: sendLocationBody, responses: ACCEPTED },
  ),
  sendContact: route(
    { ...SEND, operation: 'contact', summary: 'Send contact cards', description: QUEUED },
    { method: 'POST', path: `${INSTANCE}/messages/contact`, body: sendContactBody, responses: ACCEPTED },
  ),
  sendReaction: route(
    { ...SEND, operation: 'reaction', summary: 'React to a message', description: QUEUED },
    { method: 'POST', path: `${INSTANCE}/messages/reaction`, body: sendReactionBody, responses: ACCEPTED },
  ),
  sendPoll: route(
    { ...SEND, operation: 'poll', summary: 'Send a poll', description: QUEUED },
    { method: 'POST', path: `${INSTANCE}/messages/poll`, body: sendPollBody, responses: ACCEPTED },
  ),
  sendTemplate: route(
    {
      ...SEND,
      operation: 'template',
      summary: 'Send a text with buttons',
      description: `For business accounts only: the network refuses it from others. ${QUEUED}`,
    },
    { method: 'POST', path: `${INSTANCE}/messages/template`, body: sendTemplateBody, responses: ACCEPTED },
  ),
  sendList: route(
    {
      ...SEND,
      operation: 'list',
      summary: 'Send a list to choose from',
      description: `On whatsapp-cloud only. The choice of the recipient arrives as template_reply.received. ${QUEUED}`,
    },
    {
      method: 'POST',
      path: `${INSTANCE}/messages/list`,
      body: sendListBody,
      responses: ACCEPTED,
    },
  ),
  sendLinkButton: route(
    {
      ...SEND,
      operation: 'link_button',
      summary: 'Send a text with a button that opens a link',
      description: `On whatsapp-cloud only. ${QUEUED}`,
    },
    {
      method: 'POST',
      path: `${INSTANCE}/messages/link-button`,
      body: sendLinkButtonBody,
      responses: ACCEPTED,
    },
  ),
  sendApprovedTemplate: route(
    {
      ...SEND,
      operation: 'approved_template',
      summary: 'Send a template that Meta has approved',
      description: `On whatsapp-cloud only, also to people who have not written within 24 hours. ${QUEUED}`,
    },
    {
      method: 'POST',
      path: `${INSTANCE}/messages/approved-template`,
      body: sendApprovedTemplateBody,
      responses: ACCEPTED,
    },
  ),
  sendLinkPreview: route(
    { ...SEND, operation: 'link_preview', summary: 'Send a text with a link preview', description: QUEUED },
    {
      method: 'POST',
      path: `${INSTANCE}/messages/link-preview`,
      body: sendLinkPreviewBody,
      responses: ACCEPTED,
    },
  ),
  sendEvent: route(
    { ...SEND, operation: 'event', summary: 'Send a calendar event', description: QUEUED },
    { method: 'POST', path: `${INSTANCE}/messages/event`, body: sendEventBody, responses: ACCEPTED },
  ),
  forward: route(
    {
      ...SEND,
      operation: 'forward',
      errors: [...SEND_ERRORS, 'FORWARD_SOURCE_DELETED'],
      summary: 'Forward a message',
      description: `Failures that only the device can detect arrive later as <type>.delivery_failed, where <type> is the type of the source. ${QUEUED}`,
    },
    { method: 'POST', path: `${INSTANCE}/messages/forward`, body: sendForwardBody, responses: ACCEPTED },
  ),
  remove: route(
    { ...SEND, operation: 'delete', summary: 'Delete a message for everyone', description: QUEUED },
    {
      method: 'DELETE',
      path: `${INSTANCE}/messages/:messageId`,
      body: deleteMessageBody,
      responses: { 202: changeAccepted },
    },
  ),
  edit: route(
    {
      ...SEND,
      operation: 'edit',
      errors: [...SEND_ERRORS, 'EDIT_UNSUPPORTED_TYPE', 'EDIT_WINDOW_EXPIRED', 'EDIT_FORWARDED_NOT_ALLOWED'],
      summary: 'Edit a text or a caption',
      description: `Possible for about 15 minutes after sending. Keeps the media. ${QUEUED}`,
    },
    {
      method: 'PUT',
      path: `${INSTANCE}/messages/:messageId/edit`,
      body: editMessageBody,
      responses: { 202: changeAccepted },
    },
  ),
  sendButton: route(
    { ...OFF, summary: 'Send interactive buttons' },
    { method: 'POST', path: `${INSTANCE}/messages/button`, body: c.noBody(), responses: {} },
  ),
  sendButtonPix: route(
    { ...OFF, summary: 'Send an interactive PIX button' },
    { method: 'POST', path: `${INSTANCE}/messages/button-pix`, body: c.noBody(), responses: {} },
  ),
  sendButtonOtp: route(
    { ...OFF, summary: 'Send an interactive one-time code button' },
    { method: 'POST', path: `${INSTANCE}/messages/button-otp`, body: c.noBody(), responses: {} },
  ),
  sendOptionList: route(
    { ...OFF, summary: 'Send an interactive option list' },
    { method: 'POST', path: `${INSTANCE}/messages/option-list`, body: c.noBody(), responses: {} },
  ),
  pin: route(
    {
      ...ACTION,
      errors: [...ACTION_ERRORS, 'FORBIDDEN'],
      summary: 'Pin or unpin a message for everyone',
      description: 'Waits for the answer of the network. In groups the instance must be an admin.',
    },
    { method: 'POST', path: `${INSTANCE}/messages/pin`, body: pinBody, responses: { 200: pinDone } },
  ),
  votePoll: route(
    {
      ...ACTION,
      summary: 'Vote in a poll',
      description:
        'Waits for the answer of the network. MESSAGE_NOT_FOUND when the instance lacks the secret of the poll.',
    },
    { method: 'POST', path: `${INSTANCE}/messages/poll-vote`, body: voteBody, responses: { 200: voteDone } },
  ),
  star: route(
    {
      ...ACTION,
      summary: 'Star or unstar a message',
      description:
        'Changes only this account. The event message.starred follows once the change has synced back.',
    },
    { method: 'POST', path: `${INSTANCE}/messages/star`, body: starBody, responses: { 200: starDone } },
  ),
  list: route(
    {
      auth: 'any',
      access: 'all',
      notFound: 'INSTANCE_NOT_FOUND',
      errors: ['INVALID_PHONE', 'INVALID_RECIPIENT'],
      summary: 'List messages',
      description:
        'Newest first; with after, oldest first from that message. A page may have fewer records than limit and still a next_cursor, when few messages match the filter: continue with it. Do not poll this list for new messages, read the events: a message gets its id a moment before it is stored, so it may appear before one that you have read already.',
    },
    {
      method: 'GET',
      path: `${INSTANCE}/messages`,
      query: z.object({
        chat_jid: chatRef.optional(),
        direction: z.enum(['inbound', 'outbound']).optional(),
        status: messageStatus.optional(),
        type: z.enum(MESSAGE_TYPES).optional(),
        before: uuid.optional().meta({ description: 'Only messages older than this one' }),
        after: uuid.optional().meta({ description: 'Only messages newer than this one' }),
        limit: integerQuery(LIST_LIMIT),
      }),
      responses: {
        200: z
          .object({
            data: z.array(message),
            next_cursor: uuid.nullable().meta({
              description:
                'The position of the next page in the same direction, before or after; null at the end',
            }),
          })
          .meta({ id: 'MessageList' }),
      },
    },
  ),
  get: route(
    {
      auth: 'any',
      access: 'all',
      notFound: 'INSTANCE_NOT_FOUND',
      errors: ['MESSAGE_NOT_FOUND'],
      summary: 'Read a message',
      description:
        'Takes the UUID or the network id of the message. INSTANCE_NOT_FOUND when the instance is missing, MESSAGE_NOT_FOUND when the message is.',
    },
    { method: 'GET', path: `${INSTANCE}/message/:messageId`, responses: { 200: message } },
  ),
} satisfies AppRouter;
