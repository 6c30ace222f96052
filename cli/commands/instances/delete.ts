import { defineCommand, required, text } from '../../command.ts';

export const deleteInstance = defineCommand({
  name: 'instances delete',
  endpoints: ['instances.remove'],
  summary: 'Delete an instance, after logging it out',
  destroys: 'This deletes the instance with its messages',
  // Required, so that the command line shows what is deleted.
  args: { which: required(text('instance', 'its id or name')) },
  async run(context, { which }) {
    const instanceId = await context.instanceId(which);
    await context.client().instances.remove({ instanceId });
    if (context.profile.account(context.url).instance_id === instanceId) {
      context.profile.update(context.url, { instance_id: undefined });
    }
    context.out.show({ id: instanceId, deleted: true }, `deleted ${instanceId}`);
  },
});
