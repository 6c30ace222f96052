import { defineCommand, integer, text, toggle } from '../../command.ts';
import { pairOnTerminal } from './pairing.ts';
import { shownInstance } from './shown.ts';

/** `[instance]`, which commands on one instance take in place of --instance. */
export const instanceArg = text('instance', 'its id or name; default the remembered one');

export const connectInstance = defineCommand({
  name: 'instances connect',
  endpoints: ['instances.connect'],
  summary: 'Connect an instance, and pair it if it never was',
  args: { which: instanceArg },
  flags: {
    wait: toggle('wait until it is connected'),
    timeout: integer('seconds', 'how long --wait waits, default 60', { max: 3600 }),
  },
  async run(context, { which, wait, timeout = 60 }) {
    const client = context.client();
    const instanceId = await context.instanceId(which);
    let instance = await client.instances.connect({ instanceId });
    if (wait) instance = await pairOnTerminal(context, client, instance, timeout * 1000);
    context.out.show(instance, shownInstance(instance));
  },
});
