import pg from 'pg';
import { ClusterClient } from '../database/cluster-client.ts';
import { connectionWith, KEEP_ALIVE, KEEP_ALIVE_SETTINGS } from '../database/connection-limits.ts';
import type { Log } from '../process/log.ts';
import { createLoneTimer, type LoneTimer } from '../process/lone-timer.ts';
import type { Shutdown } from '../process/shutdown.ts';

/**
 * Wake-ups between processes, by LISTEN/NOTIFY. They tell that something may have happened: whoever listens also looks by timer, and
 * looks at once when told `reset`, since notifications sent while the connection was away are lost. A process that hears no
 * other keeps hints to itself.
 */
export interface Bus {
  on(channel: BusChannel, handler: (payload: string) => void): void;
  /** Called when the connection is lost (`up` false) and when it is back (`up` true, notifications were missed). */
  onReset(handler: (up: boolean) => void): void;
  /** Never rejects and never waits for the disk; a notification that can't be sent is dropped. */
  notify(channel: BusChannel, payload?: string): void;
  /** The same, of what makes others quick and nothing else: told to this process alone while no other is heard. */
  hint(channel: BusChannel, payload?: string): void;
  isUp(): boolean;
  close(): Promise<void>;
}

/**
 * - `outbox`: rows to publish. `instance`: an instance's desired state changed; payload its id.
 * - `auth`: forget what was cached; payload `company:<id>`, `user:<id>` or `token:<id>`.
 * - `events`: the log grew; payload company id. `deliveries`: webhook attempts are due.
 * - `calls`: there is an rpc request for an owner; payload its shard. `answers`: it is answered; payload the request's id.
 * - `workers`: a worker is to give its shards away, payload says which; or all are to look at the shards again.
 * - `inbox`: a network posted something for an instance; payload its id.
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
  | 'workers'
  | 'answers'
  | 'inbox';

const RECONNECT_MS = 500;
/** A server that takes longer for one of these short statements is frozen, and another may be the primary by now. */
const ANSWER_MS = 5_000;
/** Tells the other processes that this one listens. */
const HELLO_CHANNEL = 'hello';
const HELLO_MS = 10_000;
const ALONE_AFTER_MS = 3 * HELLO_MS;
/** Repeats of the same notification within this time are sent once. */
const COALESCE_MS = 4;

interface Notification {
  channel: BusChannel;
  payload: string;
}

interface Outgoing extends Notification {
  /** Not worth its price while nobody else is there: a transaction, and each connection that listens is woken. */
  isHint: boolean;
}

/** State that the functions of one bus share. */
interface BusContext {
  options: BusOptions;
  handlers: Map<BusChannel, Set<(payload: string) => void>>;
  resetHandlers: Set<(up: boolean) => void>;
  /** Notifications to send. */
  pending: Map<string, Outgoing>;
  client: pg.Client | null;
  isClosed: boolean;
  sending: Promise<unknown>;
  /** Handlers of this process hear it in the next turn of the event loop. */
  heardHere: Set<string>;
  flushedAtMs: number;
  /** When another process was last heard, or might have been: there was no connection before. Monotonic. */
  othersHeardAtMs: number;
  helloTimer: NodeJS.Timeout | null;
  flushTimer: LoneTimer;
  reconnectTimer: LoneTimer;
}

export interface BusOptions {
  url: string;
  log: Log;
  name: string;
  /** The connection was lost. */
  onLost?: () => void;
  /** In place of {@link HELLO_MS} and {@link ALONE_AFTER_MS}. */
  hello?: { everyMs: number; aloneAfterMs: number };
}

export async function createBus(options: BusOptions): Promise<Bus> {
  const bus: BusContext = {
    options,
    handlers: new Map(),
    resetHandlers: new Set(),
    pending: new Map(),
    client: null,
    isClosed: false,
    sending: Promise.resolve(),
    heardHere: new Set(),
    flushedAtMs: 0,
    othersHeardAtMs: 0,
    helloTimer: null,
    flushTimer: createLoneTimer(() => flush(bus)),
    reconnectTimer: createLoneTimer(() => {
      connect(bus).catch(() => reconnectLater(bus));
    }),
  };
  await connect(bus);
  bus.helloTimer = setInterval(() => hello(bus), options.hello?.everyMs ?? HELLO_MS).unref();
  return {
    on: (channel, handler) => listen(bus, channel, handler),
    onReset: (handler) => void bus.resetHandlers.add(handler),
    notify: (channel, payload = '') => say(bus, { channel, payload, isHint: false }),
    hint: (channel, payload = '') => say(bus, { channel, payload, isHint: true }),
    isUp: () => bus.client !== null,
    async close() {
      bus.isClosed = true;
      if (bus.helloTimer) clearInterval(bus.helloTimer);
      bus.flushTimer.stop();
      bus.reconnectTimer.stop();
      flush(bus);
      await bus.sending;
      await bus.client?.end().catch(() => undefined);
    },
  };
}

/** The same, closed by `shutdown`. */
export async function openBus({ shutdown, ...options }: BusOptions & { shutdown: Shutdown }): Promise<Bus> {
  const bus = await createBus(options);
  shutdown.add(`${options.name} bus`, () => bus.close());
  return bus;
}

async function connect(bus: BusContext): Promise<void> {
  const { options, handlers } = bus;
  const next = new ClusterClient({
    ...connectionWith(options.url, KEEP_ALIVE_SETTINGS),
    application_name: `${options.name} bus`,
    ...KEEP_ALIVE,
    connectionTimeoutMillis: 5_000,
    query_timeout: ANSWER_MS,
  });
  let backendId: number | undefined;
  next.on('notification', ({ processId, channel, payload = '' }) => {
    // This process's own notifications have reached its handlers already.
    if (processId === backendId) return;
    bus.othersHeardAtMs = performance.now();
    hear(bus, { channel: channel as BusChannel, payload });
  });
  next.on('error', () => lost(bus, next));
  next.on('end', () => lost(bus, next));
  try {
    await next.connect();
    backendId = (await next.query<{ id: number }>('SELECT pg_backend_pid() AS id')).rows[0]?.id;
    // A notification need not survive a crash: no wait for the disk at its commit.
    await next.query('SET synchronous_commit = off');
    for (const channel of [HELLO_CHANNEL, ...handlers.keys()]) await next.query(`LISTEN ${channel}`);
  } catch (err) {
    void next.end().catch(() => undefined);
    throw err;
  }
  bus.client = next;
  bus.othersHeardAtMs = performance.now();
  hello(bus);
  for (const handler of bus.resetHandlers) handler(true);
}

function lost(bus: BusContext, which: pg.Client): void {
  if (bus.client !== which && bus.client !== null) return;
  const wasUp = bus.client === which;
  bus.client = null;
  which.removeAllListeners('end');
  if (bus.isClosed) return;
  if (wasUp) {
    bus.options.onLost?.();
    bus.options.log.warn('database notifications lost, reconnecting');
    for (const handler of bus.resetHandlers) handler(false);
  }
  reconnectLater(bus);
}

function reconnectLater(bus: BusContext): void {
  if (!bus.isClosed) bus.reconnectTimer.start(RECONNECT_MS);
}

function listen(bus: BusContext, channel: BusChannel, handler: (payload: string) => void): void {
  let set = bus.handlers.get(channel);
  if (!set) {
    set = new Set();
    bus.handlers.set(channel, set);
    send(bus, `LISTEN ${channel}`);
  }
  set.add(handler);
}

function hear(bus: BusContext, { channel, payload }: Notification): void {
  if (bus.isClosed) return;
  for (const handler of bus.handlers.get(channel) ?? []) handler(payload);
}

/** Those who heard nobody for a while hear that they are not alone; and a server that does not answer it is given up. */
function hello(bus: BusContext): void {
  if (bus.client) send(bus, `NOTIFY ${HELLO_CHANNEL}`);
}

function isAlone({ options, othersHeardAtMs }: BusContext): boolean {
  return performance.now() - othersHeardAtMs > (options.hello?.aloneAfterMs ?? ALONE_AFTER_MS);
}

function say(bus: BusContext, outgoing: Outgoing): void {
  const key = `${outgoing.channel} ${outgoing.payload}`;
  // A notification that must be told stays so when a hint for the same key follows.
  if (!outgoing.isHint || !bus.pending.has(key)) bus.pending.set(key, outgoing);
  if (!bus.heardHere.has(key)) {
    bus.heardHere.add(key);
    setImmediate(() => {
      bus.heardHere.delete(key);
      hear(bus, outgoing);
    });
  }
  const dueInMs = bus.flushedAtMs + COALESCE_MS - performance.now();
  bus.flushTimer.start(Math.max(0, dueInMs));
}

function flush(bus: BusContext): void {
  bus.flushedAtMs = performance.now();
  const alone = isAlone(bus);
  const batch = [...bus.pending.values()].filter(({ isHint }) => !alone || !isHint);
  bus.pending.clear();
  if (!bus.client || batch.length === 0) return;
  send(bus, {
    name: 'notify',
    text: 'SELECT pg_notify(c, p) FROM unnest($1::text[], $2::text[]) AS notification (c, p)',
    values: [batch.map(({ channel }) => channel), batch.map(({ payload }) => payload)],
  });
}

/**
 * One statement at a time, as the driver wants it; one that the server refuses is a notification that is lost. One that it
 * does not answer says that it hears nothing from there any more: the connection is given up.
 */
function send(bus: BusContext, statement: string | pg.QueryConfig): void {
  const current = bus.client;
  bus.sending = bus.sending
    .then(() => (current === bus.client ? current?.query(statement) : undefined))
    .catch((err) => {
      if (err instanceof pg.DatabaseError || current === null || current !== bus.client) return;
      lost(bus, current);
      void current.end().catch(() => undefined);
    });
}
