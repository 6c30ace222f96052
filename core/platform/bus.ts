import pg from 'pg';
import { connectionWith, KEEP_ALIVE, KEEP_ALIVE_SETTINGS } from './connection-limits.ts';
import type { Log } from './log.ts';

/**
 * Wake-ups between processes, by LISTEN/NOTIFY. Only hints: whoever listens also looks by timer, and
 * looks at once when told `reset`, since notifications sent while the connection was away are lost.
 */
export interface Bus {
  on(channel: BusChannel, handler: (payload: string) => void): void;
  /** Called when the connection is lost (`up` false) and when it is back (`up` true, hints were missed). */
  onReset(handler: (up: boolean) => void): void;
  /** Never rejects and never waits for the disk; a hint that can't be sent is dropped. */
  notify(channel: BusChannel, payload?: string): void;
  isUp(): boolean;
  close(): Promise<void>;
}

/**
 * - `outbox`: rows to publish. `instance`: an instance's wanted state changed; payload its id.
 * - `auth`: forget what was cached; payload `company:<id>`, `user:<id>` or `token:<id>`.
 * - `events`: the log grew; payload company id. `deliveries`: webhook attempts are due.
 * - `calls`: an owner is asked something; payload its shard. `answers`: it has answered; payload the call's id.
 * - `mail`: mails are due. `billing`: the billing worker has something to do; payload what.
 */
export type BusChannel =
  | 'outbox'
  | 'instance'
  | 'auth'
  | 'events'
  | 'deliveries'
  | 'mail'
  | 'billing'
  | 'calls'
  | 'answers';

const RECONNECT_MS = 500;
/** Repeats of the same hint within this time are sent once. */
const COALESCE_MS = 4;

export async function createBus(options: { url: string; log: Log; name: string }): Promise<Bus> {
  const handlers = new Map<BusChannel, Set<(payload: string) => void>>();
  const resetHandlers = new Set<(up: boolean) => void>();
  const pending = new Map<string, { channel: BusChannel; payload: string }>();
  let client: pg.Client | null = null;
  let closed = false;
  let flushTimer: NodeJS.Timeout | null = null;
  let sending: Promise<unknown> = Promise.resolve();
  let reconnectTimer: NodeJS.Timeout | null = null;

  async function connect(): Promise<void> {
    const next = new pg.Client({
      ...connectionWith(options.url, KEEP_ALIVE_SETTINGS),
      application_name: `${options.name} bus`,
      ...KEEP_ALIVE,
      connectionTimeoutMillis: 5_000,
    });
    next.on('notification', (message) => {
      for (const handler of handlers.get(message.channel as BusChannel) ?? []) handler(message.payload ?? '');
    });
    next.on('error', () => lost(next));
    next.on('end', () => lost(next));
    await next.connect();
    // A hint need not survive a crash: no wait for the disk at its commit.
    await next.query('SET synchronous_commit = off');
    for (const channel of handlers.keys()) await next.query(`LISTEN ${channel}`);
    client = next;
    for (const handler of resetHandlers) handler(true);
  }

  function lost(which: pg.Client): void {
    if (client !== which && client !== null) return;
    const wasUp = client === which;
    client = null;
    which.removeAllListeners('end');
    if (closed) return;
    if (wasUp) {
      options.log.warn('database notifications lost, reconnecting');
      for (const handler of resetHandlers) handler(false);
    }
    reconnectTimer ??= setTimeout(() => {
      reconnectTimer = null;
      connect().catch(() => lost(which));
    }, RECONNECT_MS);
  }

  function flush(): void {
    flushTimer = null;
    const batch = [...pending.values()];
    pending.clear();
    if (!client || batch.length === 0) return;
    send('SELECT pg_notify(c, p) FROM unnest($1::text[], $2::text[]) AS hint (c, p)', [
      batch.map((hint) => hint.channel),
      batch.map((hint) => hint.payload),
    ]);
  }

  /** One statement at a time, as the driver wants it; one that fails is a hint that is lost. */
  function send(statement: string, values?: unknown[]): void {
    const current = client;
    sending = sending
      .then(() => (current === client ? current?.query(statement, values) : undefined))
      .catch(() => undefined);
  }

  await connect();
  return {
    on(channel, handler) {
      let set = handlers.get(channel);
      if (!set) {
        set = new Set();
        handlers.set(channel, set);
        send(`LISTEN ${channel}`);
      }
      set.add(handler);
    },
    onReset: (handler) => void resetHandlers.add(handler),
    notify(channel, payload = '') {
      pending.set(`${channel} ${payload}`, { channel, payload });
      flushTimer ??= setTimeout(flush, COALESCE_MS);
    },
    isUp: () => client !== null,
    async close() {
      closed = true;
      if (flushTimer) clearTimeout(flushTimer);
      if (reconnectTimer) clearTimeout(reconnectTimer);
      flush();
      await sending;
      await client?.end().catch(() => undefined);
    },
  };
}
