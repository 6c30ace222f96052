import { defineCommand, integer, many, required, text, toggle } from '../../command.ts';
import { UsageError } from '../../fault.ts';
import { fields } from '../../format.ts';
import { eventTypes } from '../events/types.ts';
import { parseHeaders } from './header.ts';

export const webhookId = required(integer('id', 'the number of the webhook'));

export const updateWebhook = defineCommand({
  name: 'webhooks update',
  endpoints: ['webhooks.update'],
  summary: 'Change a webhook',
  details: 'Changes only the given fields; replaces the list of events and the headers as a whole.',
  args: { webhookId },
  flags: {
    to: text('url', 'address to deliver to'),
    events: eventTypes('names or patterns, e.g. message.*'),
    header: many('"Name: value"', 'a further header of each delivery; may be repeated'),
    enable: toggle('switch it on'),
    disable: toggle('switch it off'),
  },
  async run(context, { webhookId, to, events, header, enable, disable }) {
    if (enable && disable) throw new UsageError('give either --enable or --disable');
    const changed = await context.client().webhooks.update({
      webhookId,
      body: {
        url: to,
        ...(events.length > 0 ? { events } : {}),
        headers: parseHeaders(header),
        ...(enable || disable ? { enabled: enable } : {}),
      },
    });
    context.out.show(changed, fields(changed));
  },
});
