import { defineCommand, text, toggle } from '../command.ts';
import { fields } from '../format.ts';
import { waitUntilConnected } from './instances/wait-until-connected.ts';
import { freshPhone, scan } from './scan.ts';

export const pair = defineCommand({
  name: 'pair',
  summary: 'Scan the QR of an instance with a virtual phone of the sandbox network',
  details: 'The instance must be pairing: msgctl instances connect. With a real network, use your own phone.',
  flags: {
    phone: text('phone', 'number of the phone; default a fresh one'),
    wait: toggle('wait until the instance is connected'),
  },
  async run(context, { phone, wait }) {
    const client = context.client();
    const instanceId = await context.instanceId();
    const paired = await scan(context, client, instanceId, phone ?? freshPhone());
    if (wait) await waitUntilConnected({ client, signal: context.signal }, instanceId);
    context.out.show(paired, fields(paired));
  },
});
