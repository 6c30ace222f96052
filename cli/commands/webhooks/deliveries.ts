import { defineCommand, required, text } from '../../command.ts';
import { table } from '../../format.ts';
import { LOG_COLUMNS } from './shown.ts';

export const deliveries = defineCommand({
  name: 'deliveries',
  endpoints: ['webhooks.eventDeliveries'],
  summary: 'Delivery attempts of an event, oldest first',
  details: 'Those of a webhook: msgctl webhooks logs <id>',
  args: { eventId: required(text('event id', 'the event_id of the event')) },
  async run(context, { eventId }) {
    const found = await context.client().webhooks.eventDeliveries({ query: { event_id: eventId } });
    context.out.show(found, table(found.logs, LOG_COLUMNS, 'no attempts'));
  },
});
