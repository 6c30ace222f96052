import { defineCommand } from '../command.ts';
import { fields } from '../format.ts';

export const usage = defineCommand({
  name: 'usage',
  endpoints: ['usage.get'],
  summary: 'Messages of an instance in the last 24 hours',
  async run(context) {
    const counts = await context.client().usage.get({ instanceId: await context.instanceId() });
    context.out.show(counts, fields(counts));
  },
});
