import { createWriteStream } from 'node:fs';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { defineCommand, required, text } from '../../command.ts';

export const downloadMedia = defineCommand({
  name: 'media download',
  endpoints: ['media.download'],
  summary: 'Save media to a file',
  args: { mediaId: required(text('id', 'its media_id')), file: required(text('path', 'where to save it')) },
  async run(context, { mediaId, file }) {
    const answer = await context.client().media.download({ instanceId: await context.instanceId(), mediaId });
    const bytes = Readable.fromWeb(answer.body as Parameters<typeof Readable.fromWeb>[0]);
    await pipeline(bytes, createWriteStream(file));
    context.out.show({ file, mime_type: answer.headers.get('content-type') }, `saved ${file}`);
  },
});
