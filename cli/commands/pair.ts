import { defineCommand, text, toggle } from '../command.ts';
import { fields } from '../format.ts';
import { waitUntilConnected } from './instances/wait-until-connected.ts';

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
    const { qr } = await client.instances.qr({ instanceId });
    const paired = await context
      .sandbox()
      .call({ method: 'POST', path: '/pair', body: { qr, phone: phone ?? freshPhone() } });
    if (wait) await waitUntilConnected({ client, signal: context.signal }, instanceId);
    context.out.show(paired, fields(paired));
  },
});

/** A mobile number of the kind that the sandbox network gives out, eight digits of it at random. */
export function freshPhone(): string {
  return `55119${Math.floor(10_000_000 + Math.random() * 90_000_000)}`;
}
