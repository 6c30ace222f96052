/** Readers that catch up do not delay others: companies take turns, and pages and held data are bounded. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { after, before, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { type Cursor, encodeCursor } from '@posthorn/core/events/cursor.ts';
import { createEventFeed } from '@posthorn/core/events/event-feed.ts';
import type { EventSink } from '@posthorn/core/events/event-sink.ts';
import { insertEvents } from '@posthorn/core/events/insert-events.ts';
import type { Db } from '@posthorn/core/platform/database/db.ts';
import { tellFigure } from '../support/figures.ts';
import { createParts, type Parts } from '../support/parts.ts';
import { assertUnhurt, probeWhile } from '../support/probe.ts';
import { waitFor } from '../support/process.ts';
import { type SeededCompany, seedCompany } from '../support/seed.ts';
import { newEvent, readSse, startMessaging } from './support.ts';

const ALL = { instanceId: null, types: null };
const TEXT_BYTES = 60_000;
const PAGE_BYTES = 256 * 1024;
const COMPANY_HELD_BYTES = 8 * 1024 * 1024;

let parts: Parts;
before(async () => {
  parts = await createParts();
});
after(() => parts.close());

/** A company with `count` texts in its log, and their ids. */
async function companyWithTexts(count: number): Promise<SeededCompany & { ids: string[] }> {
  const company = await seedCompany(parts.db);
  // It compresses as badly as real messages do.
  const text = () =>
    Array.from({ length: TEXT_BYTES / 10 }, () => Math.random().toString(36).slice(2, 12).padEnd(10)).join(
      '',
    );
  const ids: string[] = [];
  for (let at = 0; at < count; at += 20) {
    const events = Array.from({ length: Math.min(20, count - at) }, () =>
      newEvent(company.companyId, { type: 'message.sent', data: { text: text() } }),
    );
    await insertEvents(parts.db, events);
    ids.push(...events.map(({ eventId }) => eventId));
  }
  return { ...company, ids };
}

const beginning = (): Cursor => ({ tx: 0, id: 0, atMs: Date.now() });

function collectingSink(isSlow = false) {
  const sink = {
    ids: [] as string[],
    bytes: 0,
    write({ events }: Parameters<EventSink['write']>[0]) {
      sink.ids.push(...events.map(({ eventId }) => eventId));
      const bytes = events.reduce((sum, { body }) => sum + Buffer.byteLength(body), 0);
      sink.bytes += bytes;
      return isSlow ? sink.bytes : 0;
    },
    drained: () => (isSlow ? new Promise<void>(() => undefined) : Promise.resolve()),
    reset: () => undefined,
    heartbeat: () => undefined,
    end: () => undefined,
  };
  return sink satisfies EventSink;
}

/** Records the reads of the log: which company's, how many at once, and the bytes of each page. */
function watchReads() {
  const reads: { companyId: number; bytes: number }[] = [];
  const underWay = new Map<number, number>();
  let mostAtOnce = 0;
  const db = {
    ...parts.db,
    async query(config: { name?: string; values?: unknown[] }, values?: unknown[]) {
      const query = parts.db.query as (...args: unknown[]) => Promise<{ rows: { body?: string | null }[] }>;
      if (config.name !== 'events-read-after') return query(config, values);
      const companyId = config.values![0] as number;
      // In the order in which they began: a read may take long on a connection that is just being opened.
      const read = { companyId, bytes: 0 };
      reads.push(read);
      const now = (underWay.get(companyId) ?? 0) + 1;
      underWay.set(companyId, now);
      mostAtOnce = Math.max(mostAtOnce, now);
      const result = await query(config, values);
      underWay.set(companyId, underWay.get(companyId)! - 1);
      const bytes = result.rows.reduce((sum, { body }) => sum + Buffer.byteLength(body ?? ''), 0);
      read.bytes = bytes;
      return result;
    },
  } as unknown as Db;
  return { db, reads, mostAtOnce: () => mostAtOnce };
}

test('readers that begin at the same place share their pages, one at a time, each bounded by bytes', async (t) => {
  const { companyId, ids } = await companyWithTexts(100);
  const watched = watchReads();
  const feed = createEventFeed({ ...parts, db: watched.db, retentionDays: 14 });
  t.after(feed.close);
  const sinks = Array.from({ length: 50 }, () => collectingSink());
  // Live readers read the log as well, because they may not be live yet.
  for (const sink of sinks) await feed.subscribe({ companyId, filter: ALL, after: beginning(), sink });
  let mostWhileBehind = 0;
  await waitFor(() => {
    if (sinks.every((sink) => sink.ids.length < ids.length)) mostWhileBehind = watched.mostAtOnce();
    return sinks.every((sink) => sink.ids.length >= ids.length);
  });
  for (const sink of sinks) assert.deepEqual(sink.ids, ids, 'all of them, in order, each once');
  const largest = Math.max(...watched.reads.map(({ bytes }) => bytes));
  assert.ok(largest <= PAGE_BYTES, `the largest page had ${largest} bytes`);
  assert.equal(mostWhileBehind, 1, 'one read of this company at a time');
  const pages = Math.ceil((ids.length * TEXT_BYTES) / PAGE_BYTES);
  // Reads without events do not count: live readers look again while an older transaction runs anywhere on the server.
  const withEvents = watched.reads.filter(({ bytes }) => bytes > 0).length;
  assert.ok(withEvents < 2 * pages, `${withEvents} reads with events for 50 readers of ${pages} pages`);
});

test('an event that is larger than a page comes alone, and nothing is left out', async (t) => {
  const { companyId } = await seedCompany(parts.db);
  const sizes = [10, 400_000, 10, 400_000, 400_000, 10];
  const events = sizes.map((size) => newEvent(companyId, { data: { text: 'x'.repeat(size) } }));
  await insertEvents(parts.db, events);
  // As a version wrote it that did not record sizes.
  await parts.db.query('UPDATE events SET size_bytes = NULL WHERE event_id = $1', [events[1]!.eventId]);
  const watched = watchReads();
  const feed = createEventFeed({ ...parts, db: watched.db, retentionDays: 14 });
  t.after(feed.close);
  for (const types of [null, ['message.*'], ['instance.*', 'message.delivered']]) {
    const sink = collectingSink();
    await feed.subscribe({ companyId, filter: { types }, after: beginning(), sink });
    await waitFor(() => sink.ids.length >= events.length);
    assert.deepEqual(
      sink.ids,
      events.map(({ eventId }) => eventId),
      String(types),
    );
  }
  assert.ok(watched.reads.every(({ bytes }) => bytes < 410_000));
});

test('companies take turns: the reader of one does not wait for all 30 readers of another', async (t) => {
  const [hostile, other] = [await companyWithTexts(100), await companyWithTexts(4)];
  const watched = watchReads();
  const feed = createEventFeed({ ...parts, db: watched.db, retentionDays: 14 });
  t.after(feed.close);
  // Each with a filter of its own, so that they share nothing.
  for (let i = 0; i < 30; i += 1) {
    const filter = { types: ['message.sent', `message.x${i}`] };
    await feed.subscribe({
      companyId: hostile.companyId,
      filter,
      after: beginning(),
      sink: collectingSink(),
    });
  }
  await waitFor(() => watched.reads.length > 5);
  const sink = collectingSink();
  const before = watched.reads.length;
  await feed.subscribe({ companyId: other.companyId, filter: ALL, after: beginning(), sink });
  await waitFor(() => sink.ids.length === 4);
  const between = watched.reads.slice(before).findIndex(({ companyId }) => companyId === other.companyId);
  assert.ok(between <= 3, `${between} pages of the other company went first`);
});

test('the data held for the slow readers of a company is bounded, and no other company misses events', async (t) => {
  const [hostile, other] = [await companyWithTexts(60), await companyWithTexts(60)];
  const feed = createEventFeed({ ...parts, retentionDays: 14, stallMs: 60_000 });
  t.after(feed.close);
  const slow = Array.from({ length: 100 }, () => collectingSink(true));
  const live = Array.from({ length: 100 }, () => collectingSink(true));
  for (const sink of live) {
    const after = await feed.present(hostile.companyId);
    await feed.subscribe({ companyId: hostile.companyId, filter: ALL, after, sink });
  }
  for (const [i, sink] of slow.entries()) {
    const filter = i % 2 === 0 ? ALL : { types: ['message.sent', `message.x${i}`] };
    await feed.subscribe({ companyId: hostile.companyId, filter, after: beginning(), sink });
  }
  await insertEvents(
    parts.db,
    Array.from({ length: 4 }, () => newEvent(hostile.companyId, { data: { text: 'x'.repeat(TEXT_BYTES) } })),
  );
  parts.bus.notify('events', String(hostile.companyId));
  const sink = collectingSink();
  await feed.subscribe({ companyId: other.companyId, filter: ALL, after: beginning(), sink });
  await waitFor(() => sink.ids.length === other.ids.length);
  const handedOut = () => [...slow, ...live].reduce((sum, each) => sum + each.bytes, 0);
  await waitFor(() => handedOut() > 4 * 1024 * 1024, undefined, { what: 'something was handed out' });
  await delay(500);
  const bytes = handedOut();
  // Readers that got a page while there was room still take it as a whole.
  assert.ok(bytes <= COMPANY_HELD_BYTES + 2 * PAGE_BYTES, `${bytes} bytes are held back`);
});

test('300 texts of 60 kB and 50 streams from the beginning: another company waits for nothing', async (t) => {
  const hostile = await companyWithTexts(300);
  const other = await seedCompany(parts.db);
  const server = await startMessaging(parts, { STREAMS_PER_KEY: '100' });
  t.after(server.close);
  const headers = { 'x-api-key': other.apiKey };
  const sentAtMs = new Map<string, number>();
  const waitedMs: number[] = [];
  const neighbour = await readSse(`${server.url}/v1/events/stream`, headers, ({ data }) => {
    const { event_id: eventId } = JSON.parse(data) as { event_id: string };
    if (sentAtMs.has(eventId)) waitedMs.push(performance.now() - sentAtMs.get(eventId)!);
  });
  const before = process.memoryUsage().rss;
  let most = before;
  const { probed } = await probeWhile({ url: `${server.url}/v1/events?limit=1`, headers }, async () => {
    const clients = spawn(process.execPath, [
      fileURLToPath(new URL('./stream-readers-main.ts', import.meta.url)),
      ...[server.url, hostile.apiKey, encodeCursor(beginning()), '50', String(300 * TEXT_BYTES)],
    ]);
    const poll = setInterval(() => {
      most = Math.max(most, process.memoryUsage().rss);
    }, 20);
    let isDone = false;
    clients.stdout.once('data', () => {
      isDone = true;
    });
    while (!isDone || sentAtMs.size < 20) {
      const event = newEvent(other.companyId);
      sentAtMs.set(event.eventId, performance.now());
      await insertEvents(parts.db, [event]);
      parts.bus.notify('events', String(other.companyId));
      await delay(100);
    }
    await waitFor(() => waitedMs.length === sentAtMs.size);
    clearInterval(poll);
    clients.kill();
  });
  neighbour.cut();
  assertUnhurt(probed, '50 streams that catch up');
  assert.equal(waitedMs.length, sentAtMs.size, 'every live event arrived');
  tellFigure('a live event of another company', Math.max(...waitedMs), { atMost: 1_000 });
  const mb = 1024 * 1024;
  tellFigure('the memory of the process with its clients', most / mb, { atMost: 800 }, 'MB');
  console.log(`it was ${Math.round(before / mb)} MB before`);
});
