import type { EventPattern } from '@posthorn/sdk/index.ts';
import { defineCommand, integer, list, text } from '../../command.ts';
import { UsageError } from '../../fault.ts';
import { eventInstance } from './filter.ts';
import { shownEvent } from './shown.ts';
import { parseSince, placeOf } from './since.ts';

export const tailEvents = defineCommand({
  name: 'events tail',
  endpoints: ['events.stream', 'events.ws'],
  summary: 'Print events as they happen, until Ctrl-C',
  details:
    'Resumes by itself after a broken connection. With --json, one line each; its cursor goes on from there.',
  flags: {
    types: list('types', 'names or patterns, e.g. message.*,instance.connected'),
    since: text('time', 'begin there: a time, or an age like 10m, 2h, 1d'),
    cursor: text('cursor', 'begin after this event'),
    count: integer('n', 'end after so many'),
  },
  async run(context, { types, since, cursor, count }) {
    if (since !== undefined && cursor !== undefined) throw new UsageError('give either --since or --cursor');
    const { out, signal } = context;
    const client = context.client();
    const instanceId = await eventInstance(context);
    const filter = { instance_id: instanceId, ...(types.length > 0 ? { types } : {}) };
    let left = count ?? Number.POSITIVE_INFINITY;
    let after = cursor;
    if (since !== undefined) {
      const place = await placeOf(client, parseSince(since), filter);
      after = place?.cursor;
      if (place?.first) {
        out.item(place.first, shownEvent(place.first));
        if (--left === 0) return;
      }
    }
    let wasOpen = false;
    const events = client.events.stream({
      instanceId,
      // The service judges them, and says which one it does not know.
      types: filter.types as EventPattern[] | undefined,
      lastEventId: after,
      signal,
      onOpen: () => {
        wasOpen = true;
      },
      onReset: ({ reason }) => out.note(`events were lost to this reader: ${reason}`),
      onReconnect: ({ error }) => {
        if (wasOpen && error) out.note(`connection lost (${error.code}), trying again`);
      },
    });
    for await (const event of events) {
      out.item(event, shownEvent(event));
      if (--left === 0) return;
    }
  },
});
