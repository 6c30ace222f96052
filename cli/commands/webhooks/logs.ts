import { defineCommand, integer } from '../../command.ts';
import { pageOf } from '../../format.ts';
import { namedWebhook } from './named.ts';
import { LOG_COLUMNS } from './shown.ts';

export const webhookLogs = defineCommand({
  name: 'webhooks logs',
  endpoints: ['webhooks.logs'],
  summary: 'Delivery attempts of a webhook, newest first',
  args: namedWebhook,
  flags: { page: integer('n', 'page, default 1'), limit: integer('n', 'how many, default 20') },
  async run(context, { id, page, limit }) {
    const found = await context.client().webhooks.logs({ webhookId: id, query: { page, limit } });
    context.out.show(found, pageOf(found, LOG_COLUMNS, 'no attempts'));
  },
});
