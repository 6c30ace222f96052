import { defineCommand, text } from '../../command.ts';
import { fields } from '../../format.ts';

export const createToken = defineCommand({
  name: 'tokens create',
  endpoints: ['tokens.create'],
  summary: 'Create an API key, which is shown this once',
  flags: { name: text('name', 'to tell it apart, default "API key"') },
  async run(context, { name }) {
    const made = await context.client().tokens.create({ body: { name } });
    context.out.show(made, fields(made));
  },
});
