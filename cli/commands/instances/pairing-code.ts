import { defineCommand, required, text } from '../../command.ts';
import { fields } from '../../format.ts';
import { namedInstance } from './named.ts';

export const pairingCode = defineCommand({
  name: 'instances pairing-code',
  endpoints: ['instances.pairingCode'],
  summary: 'A code to type on the phone, in place of the QR',
  args: namedInstance,
  flags: { phone: required(text('phone', 'number of the phone to pair')) },
  async run(context, { which, phone }) {
    const instanceId = await context.instanceId(which);
    const code = await context.client().instances.pairingCode({ instanceId, body: { phone } });
    context.out.show(code, fields(code));
  },
});
