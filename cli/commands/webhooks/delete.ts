import { defineCommand } from '../../command.ts';
import { namedWebhook } from './named.ts';

export const deleteWebhook = defineCommand({
  name: 'webhooks delete',
  endpoints: ['webhooks.remove'],
  summary: 'Delete a webhook',
  destroys: 'This deletes the webhook',
  args: namedWebhook,
  async run(context, { id }) {
    await context.client().webhooks.remove({ webhookId: id });
    context.out.show({ id, deleted: true }, `deleted webhook ${id}`);
  },
});
