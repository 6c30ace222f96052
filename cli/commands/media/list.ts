import { defineCommand, integer, required, text } from '../../command.ts';
import { fields, pageOf, table } from '../../format.ts';

const type = text('type', 'only of this type, e.g. image/ or video/mp4');

export const listMedia = defineCommand({
  name: 'media list',
  endpoints: ['media.list'],
  summary: 'List the media of an instance, newest first',
  flags: {
    type,
    chat: text('jid', 'only of this chat'),
    page: integer('n', 'page, default 1'),
    limit: integer('n', 'how many, default 50'),
  },
  async run(context, { type, chat, page, limit }) {
    const found = await context.client().media.list({
      instanceId: await context.instanceId(),
      query: { mime_type: type, remote_jid: chat, page, limit },
    });
    context.out.show(
      found,
      pageOf(found, ['id', 'mime_type', 'file_name', 'file_size', 'remote_jid', 'created_at'], 'no media'),
    );
  },
});

export const mediaByChat = defineCommand({
  name: 'media chats',
  endpoints: ['media.conversations'],
  summary: 'Sum up the media of each chat, the newest first',
  flags: { type },
  async run(context, { type }) {
    const found = await context.client().media.conversations({
      instanceId: await context.instanceId(),
      query: { mime_type: type },
    });
    context.out.show(
      found,
      table(found.data, ['remote_jid', 'media_count', 'total_size', 'last_media_at'], 'no media'),
    );
  },
});

export const mediaInfo = defineCommand({
  name: 'media info',
  endpoints: ['media.info'],
  summary: 'Show what is known of media, and how long it is kept',
  args: { mediaId: required(text('id', 'its media_id')) },
  async run(context, { mediaId }) {
    const found = await context.client().media.info({ instanceId: await context.instanceId(), mediaId });
    context.out.show(found, fields(found));
  },
});

export const deleteMedia = defineCommand({
  name: 'media delete',
  endpoints: ['media.remove'],
  summary: 'Delete media before its time, which frees its storage',
  details:
    'Refused while a queued or scheduled send waits for it. Messages keep its id, which then finds nothing.',
  destroys: 'This deletes the media',
  args: { mediaId: required(text('id', 'its media_id')) },
  async run(context, { mediaId }) {
    await context.client().media.remove({ instanceId: await context.instanceId(), mediaId });
    context.out.show({ deleted: mediaId }, `deleted ${mediaId}`);
  },
});
