import { defineCommand, integer } from '../../command.ts';
import { pageOf } from '../../format.ts';

export const listWebhooks = defineCommand({
  name: 'webhooks list',
  endpoints: ['webhooks.list'],
  summary: 'List the webhooks, newest first',
  flags: { page: integer('n', 'page, default 1'), limit: integer('n', 'how many, default 50') },
  async run(context, { page, limit }) {
    const found = await context.client().webhooks.list({ query: { page, limit } });
    context.out.show(found, pageOf(found, ['id', 'url', 'events', 'instance_id', 'enabled'], 'no webhooks'));
  },
});
