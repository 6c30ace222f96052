import type { Client, EventPattern } from '@posthorn/sdk/index.ts';
import type { Context } from '../../context.ts';
import { shownEvent } from './shown.ts';

/** Prints events, one a line, until Ctrl-C or until `count` were printed. Reconnects by itself. */
export async function tailFrom(
  context: Context,
  client: Client,
  options: { types: readonly string[]; after?: string | undefined; count?: number },
): Promise<void> {
  const { out, signal } = context;
  const { types, after, count = Number.POSITIVE_INFINITY } = options;
  let left = count;
  let wasOpen = false;
  const events = client.events.stream({
    instanceId: await context.namedInstanceId(),
    types: types.length > 0 ? (types as EventPattern[]) : undefined,
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
    out.item(event, shownEvent(event, out.columns));
    left -= 1;
    if (left === 0) return;
  }
}
