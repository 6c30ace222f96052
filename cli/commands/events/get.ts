import { defineCommand, required, text } from '../../command.ts';
import { fields } from '../../format.ts';

export const getEvent = defineCommand({
  name: 'events get',
  endpoints: ['events.get'],
  summary: 'Show an event',
  args: { eventId: required(text('id', 'its event_id')) },
  async run(context, { eventId }) {
    const event = await context.client().events.get({ eventId });
    context.out.show(event, fields(event));
  },
});
