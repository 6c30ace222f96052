import { writeFile } from 'node:fs/promises';
import { defineCommand, text } from '../../command.ts';
import { fields } from '../../format.ts';
import { namedInstance } from './named.ts';

export const getQr = defineCommand({
  name: 'instances qr',
  endpoints: ['instances.qr'],
  summary: 'The QR code to pair with',
  details: 'Prints the text of the code, or saves its picture with --png. It changes every few seconds.',
  args: namedInstance,
  flags: { png: text('file', 'where to save the picture') },
  async run(context, { which, png }) {
    const client = context.client();
    const instanceId = await context.instanceId(which);
    if (png === undefined) {
      const code = await client.instances.qr({ instanceId });
      return context.out.show(code, fields(code));
    }
    const picture = await client.request<Response>({
      path: `/v1/instances/${encodeURIComponent(instanceId)}/qr`,
      headers: { accept: 'image/png' },
      answer: 'response',
    });
    await writeFile(png, new Uint8Array(await picture.arrayBuffer()));
    context.out.show({ png }, `saved ${png}`);
  },
});
