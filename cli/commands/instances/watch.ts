import { setTimeout as delay } from 'node:timers/promises';
import { type Client, type Instance, PosthornError } from '@posthorn/sdk/index.ts';
import { defineCommand } from '../../command.ts';
import type { Context } from '../../context.ts';
import { printable } from '../../format.ts';
import type { Terminal } from '../../terminal.ts';
import type { Level, TableState } from '../../views/live-table.ts';
import { createStore } from '../../views/store.ts';
import { prettyJson } from '../pretty-json.ts';

/** Pause between two requests when events report changes, and when none does. */
const LEAST_PAUSE_MS = 1_500;
const LONGEST_PAUSE_MS = 30_000;
const LIMIT = 200;

const LEVEL_OF_STATE: Readonly<Record<string, Level>> = {
  CONNECTED: 'ok',
  PAIRING: 'warning',
  DISCONNECTED: 'warning',
  HARD_PAUSED: 'error',
  BANNED: 'error',
};

export const watchInstances = defineCommand({
  name: 'instances watch',
  endpoints: ['instances.list'],
  summary: 'Show the instances and their states as they change, until Ctrl-C',
  details:
    'Shows a table on a terminal. In a pipe, prints a line for each instance, then one for each change of state.',
  async run(context) {
    const client = context.client();
    const { terminal } = context;
    if (terminal) return showInstances(context, client, terminal);
    const { out, signal } = context;
    const states = new Map<string, string>();
    const take = (instances: Instance[]) => {
      for (const instance of instances) {
        if (states.get(instance.id) === instance.state) continue;
        states.set(instance.id, instance.state);
        out.item(instance, cellsOf(instance).map(printable).join('  '));
      }
    };
    await follow(client, signal, take, out.note);
  },
});

/** Reads all instances at the start, when an event reports a change, and from time to time. */
async function follow(
  client: Client,
  signal: AbortSignal,
  take: (instances: Instance[]) => void,
  tell: (note: string) => void,
): Promise<void> {
  const ending = new AbortController();
  const end = () => ending.abort();
  signal.addEventListener('abort', end, { once: true });
  let wake = () => {};
  const listening = (async () => {
    const types = ['instance.*'] as const;
    // No event reports changes from before the stream opened.
    const onOpen = () => wake();
    for await (const _ of client.events.stream({ types, signal: ending.signal, onOpen })) wake();
    // Without events it reads by time alone.
  })().catch(() => undefined);
  try {
    for (let isFirst = true; !signal.aborted; isFirst = false) {
      const woken = new Promise<void>((resolve) => {
        wake = resolve;
      });
      try {
        take((await client.instances.list({ query: { limit: LIMIT } }, { signal })).data);
      } catch (error) {
        if (signal.aborted) return;
        if (isFirst || !(error instanceof PosthornError)) throw error;
        tell(`${error.code}, trying again`);
      }
      await delay(LEAST_PAUSE_MS, undefined, { signal }).catch(() => undefined);
      if (signal.aborted) return;
      const timer = setTimeout(wake, LONGEST_PAUSE_MS);
      signal.addEventListener('abort', wake, { once: true });
      await woken;
      signal.removeEventListener('abort', wake);
      clearTimeout(timer);
    }
  } finally {
    signal.removeEventListener('abort', end);
    end();
    await listening;
  }
}

async function showInstances({ signal }: Context, client: Client, terminal: Terminal): Promise<void> {
  const store = createStore<TableState>({ rows: [], note: 'loading ...' });
  let shown: Instance[] = [];
  const take = (instances: Instance[]) => {
    shown = instances;
    const rows = instances.map((instance) => ({
      id: instance.id,
      cells: cellsOf(instance).map(printable),
      level: LEVEL_OF_STATE[instance.state] ?? ('plain' as const),
    }));
    store.change({ rows, note: 'live' });
  };
  const { showTable } = await import('../../views/live-table.ts');
  await showTable(
    { terminal, signal },
    {
      title: 'Instances',
      columns: [
        { title: 'NAME', width: 20, isGrowing: true, dispensable: 0 },
        { title: 'STATE', width: 12, dispensable: 0 },
        { title: 'PHONE', width: 15, dispensable: 1 },
        { title: 'ERROR', width: 20, dispensable: 2 },
        { title: 'ID', width: 36, dispensable: 3 },
      ],
      store,
      async detail({ id }) {
        const instance = shown.find((each) => each.id === id);
        const { moves } = await client.instances.connection({ instanceId: id });
        const lines = moves.map(
          ({ at, from, to, reason }) => `${at}  ${from} to ${to}  ${printable(reason)}`,
        );
        return [prettyJson(instance), '', 'Moves, newest first', ...lines].join('\n');
      },
    },
    (ending) => follow(client, ending, take, (note) => store.change({ note })),
  );
}

function cellsOf({ id, name, state, phone, last_error }: Instance): unknown[] {
  return [name, state, phone, last_error, id];
}
