import type { AppRouter } from '@ts-rest/core';
import { z } from 'zod/v4';
import { omitted, pageOf, pageQuery, phoneField, saysExactly, timestamp } from '../fields.ts';
import { STATUS_FEED_LIMIT, TEXT_MAX_CHARS } from '../limits.ts';
import { route } from '../route-meta.ts';
import {
  caption,
  checkOneSource,
  type MediaSourceFields,
  mediaSource,
  statusAudioBody,
  statusImageBody,
  statusVideoBody,
} from './media-bodies.ts';
import { sendAccepted } from './message.ts';
import { MEDIA_SEND_ERRORS, SEND_ERRORS } from './messages.ts';

/** Font ids and their names. */
export const STATUS_FONTS = {
  0: 'system',
  1: 'system_text',
  2: 'fb_script',
  6: 'system_bold',
  7: 'morningbreeze',
  8: 'calistoga',
  10: 'courierprime_bold',
} as const;

export const statusTextBody = z
  .object({
    text: z.string().min(1).max(TEXT_MAX_CHARS),
    background_color: z
      .string()
      .regex(/^#[0-9a-fA-F]{6}$/, 'must be #RRGGBB')
      .optional(),
    font: z
      .literal([0, 1, 2, 6, 7, 8, 10])
      .optional()
      .meta({
        description: Object.entries(STATUS_FONTS)
          .map(([id, name]) => `${id} ${name}`)
          .join(', '),
      }),
  })
  .meta({ id: 'PostStatusTextRequest' });

const replyType = z.enum(['text', 'image', 'video', 'sticker']);

const reply = {
  poster_phone: phoneField,
  type: replyType.default('text'),
  text: z
    .string()
    .min(1)
    .max(TEXT_MAX_CHARS)
    .optional()
    .meta({ description: 'The text of the reply; required for type text' }),
  caption: caption.meta({ description: 'The caption of an image or video' }),
};

/** A text without text is a missing field; a source given along with a text is not looked at. */
function checkReplyText(body: { type: string; text?: string | undefined }, context: z.RefinementCtx): void {
  if (body.type !== 'text' || body.text !== undefined) return;
  context.addIssue({
    code: 'custom',
    input: body,
    ...saysExactly('text: is required', 'MISSING_FIELD'),
  });
}

export const statusReplyBody = {
  form: z.object(reply).superRefine(checkReplyText),
  json: z
    .object({ ...reply, ...mediaSource })
    .superRefine((body, context) => {
      checkReplyText(body, context);
      if (body.type !== 'text') checkOneSource(body as MediaSourceFields, context);
    })
    .meta({ id: 'StatusReplyRequest' }),
};

const direction = z.enum(['inbound', 'outbound']);

export const statusItem = z
  .object({
    status_message_id: z
      .string()
      .meta({ description: 'The hex id of the status on the network, or its UUID when known' }),
    direction,
    phone: z.string().meta({ description: 'The phone number of the author; empty on outbound' }),
    type: z.enum(['text', 'image', 'video', 'audio']),
    content: z.string().meta({ description: 'The text or caption' }),
    content_omitted: omitted('content', 'reading the status alone has it'),
    media_id: z.string().meta({ description: 'The UUID of the media; empty for text' }),
    posted_at: timestamp,
  })
  .meta({ id: 'StatusItem' });
export type StatusItem = z.infer<typeof statusItem>;

export const statusPrivacy = z
  .object({
    status_privacy: z.array(
      z.object({
        type: z.enum(['contacts', 'blacklist', 'whitelist']),
        list: z.array(z.string()).meta({ description: 'The phone numbers on the list' }),
        is_default: z.boolean(),
      }),
    ),
  })
  .meta({ id: 'StatusPrivacy' });
export type StatusPrivacy = z.infer<typeof statusPrivacy>;

export const statusViews = z
  .object({
    status_message_id: z.string(),
    count: z.int().meta({ description: 'The number of viewers, each counted once' }),
    viewers: z.array(
      z.object({
        phone: z.string(),
        jid: z.string(),
        receipt_type: z.enum(['read', 'played']),
        viewed_at: timestamp,
      }),
    ),
  })
  .meta({ id: 'StatusViews' });
export type StatusViews = z.infer<typeof statusViews>;

const INSTANCE = '/v1/instances/:instanceId' as const;
const POST = { auth: 'any', access: 'all', notFound: 'INSTANCE_NOT_FOUND', errors: SEND_ERRORS } as const;
const POST_MEDIA = {
  ...POST,
  errors: MEDIA_SEND_ERRORS,
  raw: 'multipart',
  description: 'Takes exactly one source: media_url, media_id, media_base64, or a file in a multipart form.',
} as const;
const READ = { auth: 'any', notFound: 'INSTANCE_NOT_FOUND' } as const;
const ACCEPTED = { 202: sendAccepted };

/** Status stories. */
export const status = {
  postText: route(
    { ...POST, operation: 'status_text', summary: 'Post a text status' },
    { method: 'POST', path: `${INSTANCE}/messages/status/text`, body: statusTextBody, responses: ACCEPTED },
  ),
  postImage: route(
    { ...POST_MEDIA, operation: 'status_image', summary: 'Post an image status' },
    {
      method: 'POST',
      path: `${INSTANCE}/messages/status/image`,
      body: statusImageBody.json,
      responses: ACCEPTED,
    },
  ),
  postVideo: route(
    { ...POST_MEDIA, operation: 'status_video', summary: 'Post a video status' },
    {
      method: 'POST',
      path: `${INSTANCE}/messages/status/video`,
      body: statusVideoBody.json,
      responses: ACCEPTED,
    },
  ),
  postAudio: route(
    { ...POST_MEDIA, operation: 'status_audio', summary: 'Post an audio status' },
    {
      method: 'POST',
      path: `${INSTANCE}/messages/status/audio`,
      body: statusAudioBody.json,
      responses: ACCEPTED,
    },
  ),
  reply: route(
    {
      ...POST_MEDIA,
      operation: 'status_reply',
      summary: 'Reply to a status',
      description:
        'Sends the reply as a direct message to the author of a received status, and to nobody else. The event status.reply_sent reports it.',
    },
    {
      method: 'POST',
      path: `${INSTANCE}/status/:statusId/reply`,
      body: statusReplyBody.json,
      responses: ACCEPTED,
    },
  ),
  list: route(
    { ...READ, access: 'all', summary: 'List the status feed' },
    {
      method: 'GET',
      path: `${INSTANCE}/status`,
      query: z.object({ direction: direction.optional(), ...pageQuery(STATUS_FEED_LIMIT) }),
      responses: { 200: pageOf(statusItem).meta({ id: 'StatusFeed' }) },
    },
  ),
  privacy: route(
    {
      ...READ,
      access: 'owner_admin',
      errors: [
        'INSTANCE_NOT_CONNECTED',
        'INSTANCE_BANNED',
        'INSTANCE_HARD_PAUSED',
        'SEND_FAILED',
        'NOT_IMPLEMENTED',
      ],
      summary: 'Read the audiences for statuses of this account',
    },
    { method: 'GET', path: `${INSTANCE}/status/privacy`, responses: { 200: statusPrivacy } },
  ),
  get: route(
    { ...READ, access: 'all', errors: ['NOT_FOUND'], summary: 'Read one status' },
    { method: 'GET', path: `${INSTANCE}/status/:statusId`, responses: { 200: statusItem } },
  ),
  views: route(
    {
      ...READ,
      access: 'owner_admin',
      summary: 'List the viewers of a status',
      description: 'Takes the message_id of the post or its id on the network. count is 0 without views.',
    },
    { method: 'GET', path: `${INSTANCE}/status/:statusId/views`, responses: { 200: statusViews } },
  ),
} satisfies AppRouter;
