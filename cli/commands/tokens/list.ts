import { defineCommand, integer } from '../../command.ts';
import { pageOf } from '../../format.ts';

export const listTokens = defineCommand({
  name: 'tokens list',
  endpoints: ['tokens.list'],
  summary: 'List the API keys, newest first',
  flags: { page: integer('n', 'page, default 1'), limit: integer('n', 'how many, default 50') },
  async run(context, { page, limit }) {
    const found = await context.client().tokens.list({ query: { page, limit } });
    context.out.show(
      found,
      pageOf(found, ['id', 'name', 'last4', 'user_id', 'created_at', 'last_used_at'], 'no keys'),
    );
  },
});
