import { readFile } from 'node:fs/promises';
import { basename } from 'node:path';
import { defineCommand, text } from '../../command.ts';
import { UsageError } from '../../fault.ts';
import { fields } from '../../format.ts';
import { upload } from '../../upload.ts';

export const uploadMedia = defineCommand({
  name: 'media upload',
  endpoints: ['media.upload'],
  summary: 'Store a file, which can then be sent by its media_id',
  details: 'Uploads a file, or with --from has the service fetch one. Up to 64 MB; kept for 7 days.',
  args: { file: text('path', 'the file to upload') },
  flags: { from: text('url', 'an address to fetch it from'), name: text('name', 'name of the file') },
  async run(context, { file, from, name }) {
    const body = await bodyOf(file, from, name);
    const instanceId = await context.instanceId();
    const client = context.client();
    const stored = await upload(context, body.file, (options) =>
      client.media.upload({ instanceId, body }, options),
    );
    context.out.show(stored, fields(stored));
  },
});

async function bodyOf(
  file: string | undefined,
  from: string | undefined,
  name: string | undefined,
): Promise<{ file: File } | { file?: undefined; media_url: string; file_name?: string | undefined }> {
  if (file !== undefined && from === undefined) return { file: await fileOf(file, name) };
  if (file === undefined && from !== undefined) return { media_url: from, file_name: name };
  throw new UsageError('give a file, or --from <url>');
}

async function fileOf(path: string, name: string | undefined): Promise<File> {
  try {
    return new File([new Uint8Array(await readFile(path))], name ?? basename(path));
  } catch (cause) {
    throw new UsageError(`${path}: cannot be read (${(cause as NodeJS.ErrnoException).code ?? 'unknown'})`);
  }
}
