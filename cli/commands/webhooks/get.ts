import { defineCommand } from '../../command.ts';
import { fields } from '../../format.ts';
import { namedWebhook } from './named.ts';

export const getWebhook = defineCommand({
  name: 'webhooks get',
  endpoints: ['webhooks.get'],
  summary: 'Show a webhook',
  args: namedWebhook,
  async run(context, { id }) {
    const found = await context.client().webhooks.get({ webhookId: id });
    context.out.show(found, fields(found));
  },
});
