import { defineCommand, integer, text, toggle } from '../../command.ts';
import { UsageError } from '../../fault.ts';
import { showEvents } from './show-events.ts';
import { shownEvent } from './shown.ts';
import { parseSince, placeOf } from './since.ts';
import { tailFrom } from './tail-from.ts';
import { eventTypes } from './types.ts';

export const tailEvents = defineCommand({
  name: 'events tail',
  endpoints: ['events.stream', 'events.ws'],
  summary: 'Print events as they happen, until Ctrl-C',
  details:
    'Reconnects by itself. On a terminal it shows a table: typing filters it, Enter shows an event; --plain prints lines instead. --json prints one event a line; --cursor continues after the cursor of an event.',
  flags: {
    types: eventTypes('names or patterns, e.g. message.*,instance.connected'),
    since: text('time', 'begin at this time, or at an age like 10m, 2h, 1d'),
    cursor: text('cursor', 'begin after this event'),
    count: integer('n', 'end after so many'),
    plain: toggle('print lines even on a terminal'),
  },
  async run(context, { types, since, cursor, count, plain }) {
    if (since !== undefined && cursor !== undefined) throw new UsageError('give either --since or --cursor');
    const { out, terminal } = context;
    const client = context.client();
    const filter = {
      instance_id: await context.namedInstanceId(),
      ...(types.length > 0 ? { types } : {}),
    };
    const place = since === undefined ? null : await placeOf(client, parseSince(since), filter);
    const after = place?.cursor ?? cursor;
    const first = place?.first ?? null;
    if (terminal && !plain && count === undefined)
      return showEvents(context, client, terminal, { types, after, first });
    if (first) out.item(first, shownEvent(first, out.columns));
    const left = (count ?? Number.POSITIVE_INFINITY) - (first ? 1 : 0);
    if (left > 0) await tailFrom(context, client, { types, after, count: left });
  },
});
