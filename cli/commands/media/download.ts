import { createWriteStream } from 'node:fs';
import { realpath, rename, rm, stat } from 'node:fs/promises';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { defineCommand, required, text } from '../../command.ts';
import type { Context } from '../../context.ts';
import { CommandError } from '../../fault.ts';

export const downloadMedia = defineCommand({
  name: 'media download',
  endpoints: ['media.download'],
  summary: 'Save media to a file',
  args: { mediaId: required(text('id', 'its media_id')), file: required(text('path', 'where to save it')) },
  async run(context, { mediaId, file }) {
    const answer = await context.client().media.download({ instanceId: await context.instanceId(), mediaId });
    await save(context, answer, file);
    context.out.show({ file, mime_type: answer.headers.get('content-type') }, `saved ${file}`);
  },
});

/** Replaces an existing file once the whole download has arrived; a pipe or a device gets the bytes as they arrive. */
async function save({ signal }: Context, answer: Response, file: string): Promise<void> {
  const found = await stat(file).catch(() => null);
  const isStream = found !== null && !found.isFile();
  const path = found?.isFile() ? await realpath(file) : file;
  const target = isStream ? path : `${path}.${process.pid}.part`;
  try {
    const bytes = Readable.fromWeb(answer.body as Parameters<typeof Readable.fromWeb>[0]);
    await pipeline(bytes, createWriteStream(target), { signal });
    if (!isStream) await rename(target, path);
  } catch (cause) {
    if (!isStream) await rm(target, { force: true });
    throw new CommandError(`${file} was not saved: ${(cause as Error).message}`);
  }
}
