import { defineCommand, many, required, text, toggle } from '../../command.ts';
import { fields } from '../../format.ts';
import { eventTypes } from '../events/types.ts';
import { parseHeaders } from './header.ts';

export const createWebhook = defineCommand({
  name: 'webhooks create',
  endpoints: ['webhooks.create'],
  summary: 'Have events delivered to an address',
  details: 'Delivers events of all instances, or with --instance of one. The secret is shown only once.',
  args: { target: required(text('url', 'address to deliver to')) },
  flags: {
    events: eventTypes('names or patterns, e.g. message.*; default all'),
    header: many('"Name: value"', 'a further header of each delivery; may be repeated'),
    disabled: toggle('create it switched off'),
  },
  async run(context, { target, events, header, disabled }) {
    const made = await context.client().webhooks.create({
      body: {
        url: target,
        ...(events.length > 0 ? { events } : {}),
        instance_id: await context.namedInstanceId(),
        headers: parseHeaders(header),
        enabled: !disabled,
      },
    });
    context.out.show(made, fields(made));
  },
});
