import type { AppRouter } from '@ts-rest/core';
import { z } from 'zod/v4';
import { pageOf, pageQuery, saysExactly, timestamp, uuid } from '../fields.ts';
import { FIELD_MAX_CHARS, MEDIA_LIST_LIMIT, URL_MAX_CHARS } from '../limits.ts';
import { c, route } from '../route-meta.ts';

/** The message for an upload without a file and without an address. */
export const FILE_OR_URL = 'media_url or file upload required';

/** The JSON form; in a multipart form the file is in the field `file`. */
export const uploadMediaBody = z
  .object({
    media_url: z
      .string()
      .max(URL_MAX_CHARS)
      .optional()
      .meta({ description: 'The URL of the media. The service fetches it at once; up to 64 MB' }),
    file_name: z.string().max(FIELD_MAX_CHARS).optional(),
  })
  .superRefine((body, context) => {
    if (!body.media_url) context.addIssue({ code: 'custom', input: body, ...saysExactly(FILE_OR_URL) });
  })
  .meta({ id: 'UploadMediaRequest' });

export const uploadResult = z
  .object({
    media_id: z.uuidv4(),
    mime_type: z
      .string()
      .meta({ description: 'The MIME type, detected from the content and not from the name' }),
    file_name: z.string(),
    file_size: z.int().meta({ description: 'The size in bytes' }),
  })
  .meta({ id: 'MediaUploaded' });
export type UploadResult = z.infer<typeof uploadResult>;

export const mediaInfo = z
  .object({
    id: uuid,
    mime_type: z.string(),
    file_name: z.string(),
    file_size: z.int(),
    download_url: z.url(),
    info_url: z.url(),
    created_at: timestamp,
    expires_at: timestamp
      .optional()
      .meta({ description: 'When the media expires; absent when it is kept without limit' }),
  })
  .meta({ id: 'MediaInfo' });
export type MediaInfo = z.infer<typeof mediaInfo>;

export const mediaItem = z
  .object({
    id: uuid,
    external_id: z.string(),
    instance_id: uuid,
    s3_key: z.string().meta({ description: 'The key of the object in the storage' }),
    mime_type: z.string(),
    file_name: z.string(),
    file_size: z.int(),
    remote_jid: z
      .string()
      .optional()
      .meta({ description: 'The JID of the chat; absent while the media belongs to no chat' }),
    created_at: timestamp,
  })
  .meta({ id: 'MediaItem' });
export type MediaItem = z.infer<typeof mediaItem>;

export const mediaConversation = z
  .object({
    remote_jid: z.string(),
    media_count: z.int(),
    total_size: z.int().meta({ description: 'The size in bytes' }),
    last_media_at: timestamp,
    thumbnail_id: uuid.meta({
      description:
        'The UUID of the newest picture of the chat, or of its newest media when there is no picture',
    }),
  })
  .meta({ id: 'MediaConversation' });
export type MediaConversation = z.infer<typeof mediaConversation>;

const mimePrefix = z
  .string()
  .max(FIELD_MAX_CHARS)
  .optional()
  .meta({ description: 'Only media whose MIME type begins with this, e.g. `image/` or `image/png`' });

const INSTANCE = '/v1/instances/:instanceId' as const;
/** Here the instance too answers NOT_FOUND, not INSTANCE_NOT_FOUND. */
const COMMON = {
  auth: 'any',
  access: 'all',
  notFound: 'NOT_FOUND',
  notFoundMessages: { instanceId: 'instance not found', mediaId: 'media not found' },
} as const;
const BYTES = c.otherResponse({ contentType: 'application/octet-stream', body: z.string() });

/** Upload, download, lists and deletion of media. */
export const media = {
  upload: route(
    {
      ...COMMON,
      raw: 'multipart',
      bodyCodes: { missing: 'BAD_REQUEST', invalid: 'BAD_REQUEST' },
      errors: ['INTERNAL_SERVER_ERROR', 'MEDIA_FETCH_FAILED', 'PLAN_LIMIT_REACHED'],
      summary: 'Upload media',
      description:
        'Takes a multipart form with the field `file`, or JSON with `media_url`. The content must be image/*, video/*, audio/* or application/pdf, up to 64 MB. The service keeps it for 7 days. 403 PLAN_LIMIT_REACHED when the storage of the plan is full.',
    },
    {
      method: 'POST',
      path: `${INSTANCE}/media`,
      body: uploadMediaBody,
      responses: { 201: uploadResult },
    },
  ),
  list: route(
    { ...COMMON, summary: 'List media', description: 'Newest first.' },
    {
      method: 'GET',
      path: `${INSTANCE}/media`,
      query: z.object({
        ...pageQuery(MEDIA_LIST_LIMIT),
        mime_type: mimePrefix,
        remote_jid: z.string().max(FIELD_MAX_CHARS).optional(),
      }),
      responses: { 200: pageOf(mediaItem) },
    },
  ),
  conversations: route(
    {
      ...COMMON,
      summary: 'List media by conversation',
      description: 'Chats with the newest media come first; 1,000 chats at most.',
    },
    {
      method: 'GET',
      path: `${INSTANCE}/media/conversations`,
      query: z.object({ mime_type: mimePrefix }),
      responses: { 200: z.object({ data: z.array(mediaConversation) }) },
    },
  ),
  info: route(
    { ...COMMON, summary: 'Read the record of a media' },
    { method: 'GET', path: `${INSTANCE}/media/:mediaId/info`, responses: { 200: mediaInfo } },
  ),
  download: route(
    {
      ...COMMON,
      raw: 'binary',
      ranges: true,
      summary: 'Download media',
      description: 'Supports Range (206, and 416 for a range beyond the end), ETag and If-None-Match (304).',
    },
    {
      method: 'GET',
      path: `${INSTANCE}/media/:mediaId`,
      responses: { 200: BYTES, 206: BYTES, 304: c.noBody() },
    },
  ),
  remove: route(
    {
      ...COMMON,
      access: 'owner_admin',
      errors: ['CONFLICT'],
      summary: 'Delete media',
      description:
        'Frees its storage at once. CONFLICT while a queued or scheduled send needs it: cancel that send, or try again later. Messages keep the media_id, which then answers 404.',
    },
    { method: 'DELETE', path: `${INSTANCE}/media/:mediaId`, responses: { 204: c.noBody() } },
  ),
} satisfies AppRouter;
