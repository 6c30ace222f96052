import type { Client, EventPattern, ListedEvent, StreamedEvent } from '@posthorn/sdk/index.ts';
import type { Context } from '../../context.ts';
import { printable } from '../../format.ts';
import type { Terminal } from '../../terminal.ts';
import type { TableState } from '../../views/live-table.ts';
import { createStore } from '../../views/store.ts';
import { prettyJson } from '../pretty-json.ts';

/** Number of events kept in memory; older ones are in the log. */
const KEPT_MAX = 1_000;

type Shown = ListedEvent | StreamedEvent;

/** A live table of events, newest first, until Ctrl-C. */
export async function showEvents(
  context: Context,
  client: Client,
  terminal: Terminal,
  options: { types: readonly string[]; after: string | undefined; first: Shown | null },
): Promise<void> {
  const store = createStore<TableState>({ rows: [], note: 'connecting ...' });
  let kept: Shown[] = [];
  const add = (event: Shown) => {
    kept = [event, ...kept].slice(0, KEPT_MAX);
    store.change({ rows: kept.map(rowOf) });
  };
  if (options.first) add(options.first);
  const instanceId = await context.namedInstanceId();
  const { showTable } = await import('../../views/live-table.ts');
  await showTable(
    { terminal, signal: context.signal },
    {
      title: 'Events',
      columns: [
        { title: 'TIME', width: 12, dispensable: 2 },
        { title: 'TYPE', width: 26, dispensable: 0 },
        { title: 'DATA', width: 20, isGrowing: true, dispensable: 1 },
        { title: 'ID', width: 36, dispensable: 3 },
      ],
      store,
      async detail({ id }) {
        const event = kept.find(({ event_id }) => event_id === id);
        return event ? prettyJson(event) : 'it is older than what is shown: msgctl events get';
      },
    },
    async (signal) => {
      const events = client.events.stream({
        instanceId,
        types: options.types.length > 0 ? (options.types as EventPattern[]) : undefined,
        lastEventId: options.after,
        signal,
        onOpen: () => store.change({ note: 'live' }),
        onReset: ({ reason }) => store.change({ note: `events were lost to this reader: ${reason}` }),
        onReconnect({ error }) {
          if (error) store.change({ note: `connection lost (${error.code}), trying again` });
        },
      });
      for await (const event of events) add(event);
    },
  );
}

function rowOf({ event_id, created_at, type, data }: Shown) {
  const isFailure = type.endsWith('.delivery_failed') || type === 'instance.banned';
  return {
    id: event_id,
    cells: [created_at.slice(11, 23), type, summaryOf(data), event_id].map(printable),
    level: isFailure ? ('error' as const) : ('plain' as const),
  };
}

/** Puts the content first, since the line may be cut. */
function summaryOf(data: Shown['data']): string {
  const { content, ...rest } = data as Record<string, unknown>;
  return [content, rest].flatMap((part) => (part === undefined ? [] : [JSON.stringify(part)])).join(' ');
}
