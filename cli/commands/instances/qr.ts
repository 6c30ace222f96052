import { writeFile } from 'node:fs/promises';
import { defineCommand, integer, text, toggle } from '../../command.ts';
import type { Context } from '../../context.ts';
import { UsageError } from '../../fault.ts';
import { fields } from '../../format.ts';
import { instanceArg } from './connect.ts';
import { drawUntilConnected, followCodes } from './pairing.ts';
import { shownInstance } from './shown.ts';

export const getQr = defineCommand({
  name: 'instances qr',
  endpoints: ['instances.qr'],
  summary: 'Show the QR code to pair with',
  details:
    'Prints the text of the code, draws it on a terminal, or saves its picture with --png. The code changes every few seconds: --watch shows each new one until the instance is connected.',
  args: { which: instanceArg },
  flags: {
    png: text('file', 'where to save the picture'),
    watch: toggle('show each new code until the instance is connected'),
    timeout: integer('seconds', 'how long --watch waits, default 300', { max: 3600 }),
  },
  async run(context, { which, png, watch, timeout = 300 }) {
    if (watch && png !== undefined) throw new UsageError('give either --png or --watch');
    const client = context.client();
    const instanceId = await context.instanceId(which);
    if (watch) return watchCodes(context, instanceId, timeout * 1000);
    if (png === undefined) {
      const code = await client.instances.qr({ instanceId });
      return context.out.show(code, `${await drawn(context, code.qr)}${fields(code)}`);
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

async function watchCodes(context: Context, instanceId: string, timeoutMs: number): Promise<void> {
  const { out, signal, terminal } = context;
  const client = context.client();
  const { name } = await client.instances.get({ instanceId });
  const connected = terminal
    ? await drawUntilConnected({ client, terminal, signal }, { id: instanceId, name }, timeoutMs)
    : await followCodes({ client, signal }, instanceId, (code) => out.item(code, fields(code)), timeoutMs);
  out.item(connected, shownInstance(connected));
}

/** The code as text on a terminal, black on white if colours are allowed. */
async function drawn({ terminal }: Context, qr: string): Promise<string> {
  if (!terminal) return '';
  const { drawQr } = await import('../../qr/draw.ts');
  const lines = drawQr(qr, terminal.hasColor ? 'dark' : 'light');
  if ((lines[0]?.length ?? 0) > terminal.stdout.columns) return '';
  const paint = (line: string) => (terminal.hasColor ? `\u001b[30;107m${line}\u001b[0m` : line);
  return `${lines.map(paint).join('\n')}\n\n`;
}
