import { defineCommand, required, text } from '../../command.ts';
import { shownInstance } from './shown.ts';

export const useInstance = defineCommand({
  name: 'instances use',
  summary: 'Choose the instance that commands use when none is named',
  args: { which: required(text('instance', 'its id or name')) },
  async run(context, { which }) {
    const instanceId = await context.instanceId(which);
    const instance = await context.client().instances.get({ instanceId });
    context.profile.update(context.url, { instance_id: instanceId });
    context.out.show(instance, shownInstance(instance));
  },
});
