import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { after, before, describe, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import { type Cursor, encodeCursor } from '@posthorn/core/events/cursor.ts';
import { createEventFeed, type EventFeed } from '@posthorn/core/events/event-feed.ts';
import type { EventSink, StreamEnd } from '@posthorn/core/events/event-sink.ts';
import { insertEvents } from '@posthorn/core/events/insert-events.ts';
import { listEvents } from '@posthorn/core/events/list-events.ts';
import type { Bus } from '@posthorn/core/platform/broker/bus.ts';
import type { Db } from '@posthorn/core/platform/database/db.ts';
import { createLiveConnections } from '@posthorn/server/http/live-connections.ts';
import { createEventSockets } from '@posthorn/server/http/websocket.ts';
import { WebSocket } from 'ws';
import { tellFigure } from '../support/figures.ts';
import { listen } from '../support/listen.ts';
import { createParts, type Parts } from '../support/parts.ts';
import { waitFor } from '../support/process.ts';
import { type SeededCompany, seedCompany } from '../support/seed.ts';
import { createTestClock } from '../support/test-clock.ts';
import { newEvent, putEvent } from './support.ts';

const ALL = { instanceId: null, types: null };

let parts: Parts;
let company: SeededCompany;
before(async () => {
  parts = await createParts();
  company = await seedCompany(parts.db);
});
after(() => parts.close());

interface RecordedSink extends EventSink {
  ids: string[];
  resets: Cursor[];
  ends: StreamEnd[];
}

function recordingSink(): RecordedSink {
  const sink: RecordedSink = {
    ids: [],
    resets: [],
    ends: [],
    write({ events }) {
      sink.ids.push(...events.map(({ eventId }) => eventId));
      return 0;
    },
    drained: async () => undefined,
    reset: (cursor) => void sink.resets.push(cursor),
    heartbeat: () => undefined,
    end: (reason) => void sink.ends.push(reason),
  };
  return sink;
}

/** The database, with its queries counted by name and, where desired, their answers delayed or changed. */
function watchedDb(change: (name: string, result: { rows: object[] }) => Promise<unknown> = async () => {}) {
  const counts = new Map<string, number>();
  const db = {
    ...parts.db,
    async query(config: { name?: string }, values?: unknown[]) {
      const name = config.name ?? '';
      counts.set(name, (counts.get(name) ?? 0) + 1);
      const result = await (parts.db.query as (...args: unknown[]) => Promise<{ rows: object[] }>)(
        config,
        values,
      );
      await change(name, result);
      return result;
    },
  } as Db;
  return { db, reads: () => counts.get('events-read-after') ?? 0 };
}

const emit = async () => {
  const { eventId } = await putEvent(parts.db, company.companyId);
  parts.bus.notify('events', String(company.companyId));
  return eventId;
};

describe('a cursor beyond the end of the log', () => {
  const ahead = { tx: Number.MAX_SAFE_INTEGER, id: 0, atMs: Date.now() };

  test('is answered by a reset, and costs no other reader anything', async (t) => {
    const watched = watchedDb();
    const feed = createEventFeed({ ...parts, db: watched.db, retentionDays: 14 });
    t.after(feed.close);
    const { companyId } = company;
    const sinks = [recordingSink(), recordingSink(), recordingSink()] as const;
    await feed.subscribe({ companyId, filter: ALL, after: ahead, sink: sinks[0] });
    await waitFor(() => sinks[0].resets.length === 1);
    await feed.subscribe({ companyId, filter: ALL, after: await feed.present(companyId), sink: sinks[1] });
    const cursor = { ...sinks[0].resets[0]!, atMs: parts.clock.now().getTime() };
    await feed.subscribe({ companyId, filter: ALL, after: cursor, sink: sinks[2] });
    const eventId = await emit();
    await waitFor(() => sinks.every(({ ids }) => ids.length > 0));
    assert.deepEqual(
      sinks.map(({ ids }) => ids),
      [[eventId], [eventId], [eventId]],
    );
    const before = watched.reads();
    await delay(500);
    assert.ok(watched.reads() - before < 10, `${watched.reads() - before} reads while nothing happened`);
  });

  test('resets the readers of a database that has become an earlier one', async (t) => {
    let isEarlier = false;
    const { db } = watchedDb(async (name, { rows }) => {
      if (isEarlier && name === 'events-read-after') rows.splice(0, rows.length, { horizon: 5, tx: null });
    });
    const feed = createEventFeed({ ...parts, db, retentionDays: 14, sweepMs: 50 });
    t.after(feed.close);
    const sink = recordingSink();
    const { companyId } = company;
    const after = await feed.present(companyId);
    const reader = await feed.subscribe({ companyId, filter: ALL, after, sink });
    await emit();
    await waitFor(() => sink.ids.length === 1);
    isEarlier = true;
    await waitFor(() => sink.resets.length > 0);
    assert.deepEqual([sink.resets[0]!.tx, reader.position().tx], [5, 5]);
    await delay(200);
    assert.equal(sink.resets.length, 1, 'once');
  });
});

test('a reader that begins while the last other one leaves gets its events', async (t) => {
  let ends = 0;
  const { db } = watchedDb(async (name) => {
    if (name === 'events-end' && ++ends === 2) await delay(100);
  });
  const feed = createEventFeed({ ...parts, db, retentionDays: 14 });
  t.after(feed.close);
  const { companyId } = company;
  const sink = recordingSink();
  const begin = async (reader: EventSink) =>
    feed.subscribe({ companyId, filter: ALL, after: await feed.present(companyId), sink: reader });
  const leaving = begin(recordingSink());
  const staying = begin(sink);
  (await leaving).close();
  await staying;
  assert.equal(ends, 2, 'both asked for the end of the log');
  const eventId = await emit();
  await waitFor(() => sink.ids.length > 0);
  assert.deepEqual(sink.ids, [eventId]);
  assert.equal(feed.readers().live, 1);
  await feed.close();
  assert.deepEqual(sink.ends, ['shutdown']);
});

test('a stream without a cursor begins with the present, also while the only other reader is slow', async (t) => {
  const feed = createEventFeed({ ...parts, retentionDays: 14 });
  const takes: (() => void)[] = [];
  t.after(async () => {
    for (const take of takes) take();
    await feed.close();
  });
  const { companyId } = company;
  const start = await feed.present(companyId);
  const subscribe = (after: Cursor, sink: EventSink) =>
    feed.subscribe({ companyId, filter: ALL, after, sink });
  const quick = recordingSink();
  const leaving = await subscribe(start, quick);
  await subscribe(start, {
    ...recordingSink(),
    write: () => 1024 * 1024,
    drained: () => new Promise((resolve) => void takes.push(resolve)),
  });
  await emit();
  await waitFor(() => quick.ids.length === 1 && feed.readers().behind === 1 && takes.length > 0);
  leaving.close();
  const passed = await emit();
  // The log shows nothing past a running transaction, even of another test: until then this one is not of the past.
  await waitFor(async () => {
    const { data } = await listEvents(parts, { companyId, ...ALL, limit: 1 });
    return data[0]?.event_id === passed;
  });
  const fresh = recordingSink();
  await subscribe(await feed.present(companyId), fresh);
  const eventId = await emit();
  await waitFor(() => fresh.ids.includes(eventId));
  assert.deepEqual(fresh.ids, [eventId]);
});

test('a reader that searches a long log for a rare event is told how far it has come', async (t) => {
  const { companyId } = await seedCompany(parts.db);
  const start = { tx: 0, id: 0, atMs: Date.now() };
  for (let i = 0; i < 3; i += 1)
    await insertEvents(
      parts.db,
      Array.from({ length: 1_000 }, () => newEvent(companyId)),
    );
  const { db } = watchedDb(async (name) => {
    if (name === 'events-read-after') await delay(200);
  });
  const feed = createEventFeed({ ...parts, db, retentionDays: 14, heartbeatMs: 20 });
  t.after(feed.close);
  const seen: number[] = [];
  const sink = { ...recordingSink(), heartbeat: ({ tx }: Cursor) => void seen.push(tx) };
  await feed.subscribe({ companyId, filter: { types: ['label.created'] }, after: start, sink });
  await waitFor(() => feed.readers().behind === 1 && seen.length > 0);
  await waitFor(() => feed.readers().live === 1);
  const pages = new Set(seen);
  assert.ok(pages.size >= 3, `heartbeats with ${pages.size} cursors`);
});

describe('the credentials of a live connection', () => {
  function fakeBus() {
    let onAuth: (payload: string) => void = () => undefined;
    let onReset: (up: boolean) => void = () => undefined;
    const bus = {
      on: (_channel: string, handler: typeof onAuth) => {
        onAuth = handler;
      },
      onReset: (handler: typeof onReset) => {
        onReset = handler;
      },
    } as unknown as Bus;
    return { bus, change: () => onAuth(`company:${company.companyId}`), reset: (up: boolean) => onReset(up) };
  }

  test('are watched before there is anything to end', () => {
    const { bus, change } = fakeBus();
    const credentials = createLiveConnections({ bus, clock: createTestClock() }).watch(
      company.principal,
      performance.now(),
    );
    change();
    let ended = 0;
    credentials.onEnd(() => {
      ended += 1;
    });
    assert.equal(ended, 1, 'at once');
    change();
    assert.equal(ended, 1, 'and once only');
  });

  test('have ended when they changed, or may have, while they were looked up', () => {
    const { bus, change, reset } = fakeBus();
    const connections = createLiveConnections({ bus, clock: createTestClock() });
    const endedAtOnce = (sinceMs: number) => {
      let ended = 0;
      const credentials = connections.watch(company.principal, sinceMs);
      credentials.onEnd(() => {
        ended += 1;
      });
      credentials.forget();
      return ended === 1;
    };
    const nextMoment = () => {
      const now = performance.now();
      for (;;) if (performance.now() > now) return performance.now();
    };
    const before = performance.now();
    change();
    assert.equal(endedAtOnce(before), true, 'what was looked up may be older than the change');
    const between = nextMoment();
    assert.equal(endedAtOnce(between), false, 'looked up after it');
    reset(false);
    assert.equal(endedAtOnce(between), false, 'what is missed is known when the bus is back');
    reset(true);
    assert.equal(endedAtOnce(between), true, 'nobody knows what was missed');
    assert.equal(endedAtOnce(nextMoment()), false);
  });

  test('are proven anew after the bus was away, by all that are still connected', async () => {
    const { bus, reset } = fakeBus();
    const connections = createLiveConnections({ bus, clock: createTestClock() });
    const ended: string[] = [];
    const open = (name: string) => {
      const credentials = connections.watch(company.principal, performance.now());
      credentials.onEnd(() => void ended.push(name));
      return credentials;
    };
    open('stays');
    open('leaves').forget();
    reset(false);
    await delay(1_100);
    assert.deepEqual(ended, [], 'not while nobody could prove anything');
    reset(true);
    await waitFor(() => ended.length > 0);
    assert.deepEqual(ended, ['stays']);
  });
});

test('a WebSocket is dropped when a ping stays unanswered for long, not at the next heartbeat', async (t) => {
  const PONG_WITHIN_MS = 3_000;
  const feed = createEventFeed({ ...parts, retentionDays: 14, heartbeatMs: 40 });
  const connections = createLiveConnections(parts);
  const sockets = createEventSockets({ db: parts.db, feed, connections, pongWithinMs: PONG_WITHIN_MS });
  const http = createServer();
  http.on('upgrade', (request, socket, head) => {
    void sockets.accept({
      principal: company.principal,
      startedAt: performance.now(),
      query: {},
      takeUpgrade: () => ({ request, socket, head }) as never,
    });
  });
  const port = await listen(http);
  t.after(async () => {
    sockets.close();
    await feed.close();
    http.closeAllConnections();
    http.close();
  });
  const open = () => new WebSocket(`ws://127.0.0.1:${port}/`, { autoPong: false });
  const closedAfter = (socket: WebSocket) => {
    const startedAt = performance.now();
    return new Promise<number>((resolve) =>
      socket.once('close', () => resolve(performance.now() - startedAt)),
    );
  };
  const late = open();
  const dead = open();
  late.on('ping', (data) => void setTimeout(() => late.pong(data), 200));
  const lateClosed = closedAfter(late).then(() => 'closed');
  const deadMs = await closedAfter(dead);
  assert.ok(deadMs >= PONG_WITHIN_MS, `dropped after ${deadMs} ms`);
  tellFigure('a WebSocket without a pong is dropped', deadMs, { atMost: PONG_WITHIN_MS + 1_000 });
  assert.equal(await Promise.race([lateClosed, delay(800, 'open')]), 'open');
  late.terminate();
});

test('a WebSocket whose pong has come is not dropped when the server stood still meanwhile', async (t) => {
  const PONG_WITHIN_MS = 200;
  const sinks: EventSink[] = [];
  const cursor = { tx: 1, id: 0, atMs: Date.now() };
  const feed = {
    present: async () => cursor,
    async subscribe({ sink }: { sink: EventSink }) {
      sinks.push(sink);
      return { position: () => cursor, close: () => undefined };
    },
  } as unknown as EventFeed;
  const connections = createLiveConnections(parts);
  const sockets = createEventSockets({ db: parts.db, feed, connections, pongWithinMs: PONG_WITHIN_MS });
  const http = createServer();
  http.on('upgrade', (request, socket, head) => {
    void sockets.accept({
      principal: company.principal,
      startedAt: performance.now(),
      query: { after: encodeCursor(cursor) },
      takeUpgrade: () => ({ request, socket, head }) as never,
    });
  });
  const port = await listen(http);
  // In a thread of its own: it answers while this one is blocked.
  const ponged = new Int32Array(new SharedArrayBuffer(4));
  const client = new Worker(new URL('./pong-thread.ts', import.meta.url), {
    workerData: { url: `ws://127.0.0.1:${port}/`, ponged },
  });
  t.after(async () => {
    await client.terminate();
    sockets.close();
    http.closeAllConnections();
    http.close();
  });
  let isClosed = false;
  client.on('message', () => {
    isClosed = true;
  });
  const sink = await waitFor(() => sinks[0]);
  sink.heartbeat(cursor);
  // The ping leaves this process; then nothing is read until the pong is here, for longer than the pong may take.
  await new Promise((resolve) => setImmediate(resolve));
  assert.notEqual(Atomics.wait(ponged, 0, 0, 30_000), 'timed-out');
  const until = performance.now() + PONG_WITHIN_MS;
  while (performance.now() < until);
  sink.heartbeat(cursor);
  await delay(500);
  assert.equal(isClosed, false);
});
