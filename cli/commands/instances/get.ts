import { defineCommand } from '../../command.ts';
import { namedInstance } from './named.ts';
import { shownInstance } from './shown.ts';

export const getInstance = defineCommand({
  name: 'instances get',
  endpoints: ['instances.get'],
  summary: 'Show an instance',
  args: namedInstance,
  async run(context, { which }) {
    const instance = await context.client().instances.get({ instanceId: await context.instanceId(which) });
    context.out.show(instance, shownInstance(instance));
  },
});
