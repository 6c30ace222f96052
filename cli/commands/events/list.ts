import { defineCommand, integer, list, text } from '../../command.ts';
import { shownEvent } from './shown.ts';
import { checkTypes } from './types.ts';

export const listEvents = defineCommand({
  name: 'events list',
  endpoints: ['events.list'],
  summary: 'List events, newest first',
  flags: {
    types: list('types', 'names or patterns, e.g. message.*,instance.connected'),
    before: text('cursor', 'only events before this one'),
    after: text('cursor', 'only events after this one, oldest first'),
    limit: integer('n', 'how many, default 50'),
  },
  async run(context, { types, before, after, limit }) {
    checkTypes(types);
    const found = await context.client().events.list({
      query: {
        instance_id: await context.namedInstanceId(),
        ...(types.length > 0 ? { types } : {}),
        before,
        after,
        limit,
      },
    });
    context.out.show(found, found.data.map((event) => shownEvent(event)).join('\n') || 'no events');
  },
});
