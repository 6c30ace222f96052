import { setTimeout as delay } from 'node:timers/promises';
import { type Client, PosthornError } from '@posthorn/sdk/index.ts';
import { defineCommand, integer, oneOf } from '../../command.ts';
import type { Context } from '../../context.ts';
import { printable } from '../../format.ts';
import type { Terminal } from '../../terminal.ts';
import type { Row, TableState } from '../../views/live-table.ts';
import { createStore } from '../../views/store.ts';
import { prettyJson } from '../pretty-json.ts';

const STATUSES = ['all', 'success', 'failure', 'stuck'] as const;
/** Requests count against the company's limit: this takes twenty of sixty a minute. */
const DEFAULT_PAUSE_S = 3;
const LIMIT = 200;

type Status = (typeof STATUSES)[number];
type Delivered = Awaited<ReturnType<Client['deliveries']['events']>>['data'][number];

export const watchDeliveries = defineCommand({
  name: 'deliveries watch',
  endpoints: ['deliveries.events', 'webhooks.eventDeliveries', 'webhooks.retryLog'],
  summary: 'Show deliveries to webhooks as they are made, until Ctrl-C',
  details:
    'Shows a table on a terminal: typing filters it, Enter shows request and response, Ctrl-R delivers again. In a pipe, prints a line for each new attempt.',
  flags: {
    status: oneOf('status', STATUSES, `${STATUSES.join(', ')}; default all`),
    every: integer('seconds', `seconds between two reads, default ${DEFAULT_PAUSE_S}`, { max: 3600 }),
  },
  async run(context, { status = 'all', every = DEFAULT_PAUSE_S }) {
    const client = context.client();
    const { terminal } = context;
    const look = (signal: AbortSignal, take: (rows: Delivered[]) => void, onFault: (why: string) => void) =>
      poll({ client, signal, status, pauseMs: every * 1000 }, take, onFault);
    if (terminal) return showDeliveries(context, client, terminal, look);
    await printDeliveries(context, look);
  },
});

type Look = (
  signal: AbortSignal,
  take: (rows: Delivered[]) => void,
  onFault: (why: string) => void,
) => Promise<void>;

/**
 * Reads the newest deliveries again and again and passes them on. Throws if the first request fails; later ones may
 * fail.
 */
async function poll(
  deps: { client: Client; signal: AbortSignal; status: Status; pauseMs: number },
  take: (rows: Delivered[]) => void,
  onFault: (why: string) => void,
): Promise<void> {
  const { client, signal, status, pauseMs } = deps;
  for (let isFirst = true; !signal.aborted; isFirst = false) {
    try {
      take((await client.deliveries.events({ query: { status, limit: LIMIT } }, { signal })).data);
    } catch (error) {
      if (signal.aborted) return;
      if (isFirst || !(error instanceof PosthornError)) throw error;
      onFault(`${error.code}, trying again`);
    }
    await delay(pauseMs, undefined, { signal }).catch(() => undefined);
  }
}

async function printDeliveries({ out, signal }: Context, look: Look): Promise<void> {
  let seen: Set<number> | null = null;
  const take = (rows: Delivered[]) => {
    // Deliveries from before the start are not news.
    const known = seen ?? new Set(rows.map(({ log_id }) => log_id));
    for (const row of rows.toReversed()) {
      if (known.has(row.log_id)) continue;
      known.add(row.log_id);
      out.item(row, cellsOf(row).map(printable).join('  '));
    }
    seen = known;
  };
  await look(signal, take, out.note);
}

async function showDeliveries(
  { signal }: Context,
  client: Client,
  terminal: Terminal,
  look: Look,
): Promise<void> {
  const store = createStore<TableState>({ rows: [], note: 'loading ...' });
  const found = new Map<string, Delivered>();
  const take = (rows: Delivered[]) => {
    found.clear();
    for (const row of rows) found.set(`${row.webhook_id} ${row.event_id}`, row);
    store.change({
      rows: [...found].map(([id, row]) => tableRow(id, row)),
      note: `as of ${timeOf(new Date())}`,
    });
  };
  const { showTable } = await import('../../views/live-table.ts');
  await showTable(
    { terminal, signal },
    {
      title: 'Deliveries',
      columns: [
        { title: 'TIME', width: 8, dispensable: 3 },
        { title: 'STATUS', width: 6, dispensable: 0 },
        { title: 'EVENT', width: 24, dispensable: 0 },
        { title: 'TRIES', width: 5, dispensable: 4 },
        { title: 'OUTCOME', width: 16, dispensable: 2 },
        { title: 'URL', width: 20, isGrowing: true, dispensable: 1 },
      ],
      store,
      async detail({ id }) {
        const row = found.get(id);
        if (!row) return 'it is older than what is shown';
        const { logs } = await client.webhooks.eventDeliveries({ query: { event_id: row.event_id } });
        return describe(
          row,
          logs.filter(({ webhook_id }) => webhook_id === row.webhook_id),
        );
      },
      action: {
        key: 'r',
        name: 'deliver again',
        async run({ id }) {
          const row = found.get(id);
          if (!row) return 'it is older than what is shown';
          await client.webhooks.retryLog({ webhookId: row.webhook_id, logId: row.log_id });
          return `${row.event_type} is delivered again to ${row.webhook_url}`;
        },
      },
    },
    (ending) => look(ending, take, (note) => store.change({ note })),
  );
}

function tableRow(id: string, row: Delivered): Row {
  const level = row.success ? 'ok' : row.is_hard_failed ? 'error' : 'warning';
  return { id, cells: cellsOf(row).map(printable), level };
}

function cellsOf({
  created_at,
  status_code,
  event_type,
  attempts,
  success,
  error_class,
  webhook_url,
}: Delivered) {
  const outcome = success ? 'delivered' : error_class;
  const status = status_code === 0 ? '-' : String(status_code);
  return [timeOf(new Date(created_at)), status, event_type, String(attempts), outcome, webhook_url];
}

function timeOf(date: Date): string {
  return date.toTimeString().slice(0, 8);
}

type Attempt = Awaited<ReturnType<Client['webhooks']['eventDeliveries']>>['logs'][number];

/** The request and the answers to it. */
function describe(row: Delivered, attempts: readonly Attempt[]): string {
  const payload = attempts.at(-1)?.payload ?? '';
  return [
    `POST ${printable(row.webhook_url)}`,
    `webhook-id: ${row.event_id}`,
    '',
    payload === '' ? 'the payload is no longer kept' : prettyJson(payload),
    ...attempts
      .toReversed()
      .flatMap(({ attempt, created_at, status_code, error_class, response }) => [
        '',
        `attempt ${attempt}, ${printable(created_at)}: ${status_code || 'no answer'} ${error_class}`.trimEnd(),
        ...(response === '' ? [] : [prettyJson(response)]),
      ]),
  ].join('\n');
}
