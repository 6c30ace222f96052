import { defineCommand, required, text } from '../../command.ts';
import { fields } from '../../format.ts';

export const getMessage = defineCommand({
  name: 'message get',
  endpoints: ['messages.get'],
  summary: 'Show a message and how far it got',
  args: { messageId: required(text('id', 'its UUID or network id')) },
  async run(context, { messageId }) {
    const found = await context.client().messages.get({ instanceId: await context.instanceId(), messageId });
    const known = Object.entries(found).filter(([, value]) => value !== null);
    context.out.show(found, fields(Object.fromEntries(known)));
  },
});
