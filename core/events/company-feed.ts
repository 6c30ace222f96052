import { setTimeout as delay } from 'node:timers/promises';
import type { Db } from '../platform/db.ts';
import type { Log } from '../platform/log.ts';
import { type Cursor, compareCursors } from './cursor.ts';
import { type EventFilter, eventPredicate, filterKey } from './event-filter.ts';
import type { EventBatch, EventSink } from './event-sink.ts';
import { readEvents } from './read-events.ts';

export interface CompanyFeedDeps {
  db: Db;
  log: Log;
  nowMs: () => number;
  /** Keeps the readers from taking every connection of the pool. */
  limit: <T>(work: () => Promise<T>) => Promise<T>;
  /** A reader that has not taken what it was given within this time is disconnected. */
  stallMs: number;
}

export interface FeedReader {
  filter: EventFilter;
  sink: EventSink;
  key: string;
  wants: ReturnType<typeof eventPredicate>;
  /** Everything up to here was handed to the sink or is of no interest to it. */
  position: Cursor;
  state: 'behind' | 'live' | 'gone';
}

const LIVE_PAGE = 500;
const CATCH_UP_PAGE = 100;
/** Bytes a connection may hold back before its reader counts as behind. */
const HIGH_WATER_BYTES = 256 * 1024;
/** The least time between two reads of one company: what commits meanwhile goes in one batch. */
const GAP_MS = 5;
const PENDING_MAX_MS = 50;
const RETRY_MS = 500;

/**
 * The readers of one company in this process. Those that are up to date share one query and one
 * rendering per wake; one that is behind (it resumes, or its connection is slow) reads pages of its own
 * at its own pace until it meets the others, so nothing is buffered beyond a page for it.
 */
export function createCompanyFeed(deps: CompanyFeedDeps, companyId: number) {
  const readers = new Set<FeedReader>();
  const live = new Map<string, Set<FeedReader>>();
  let head: Cursor | null = null;
  let reading = false;
  let woken = false;
  let retryTimer: NodeJS.Timeout | null = null;
  let pendingMs = GAP_MS;

  const read = (query: EventFilter & { after: Cursor | null; limit: number }) =>
    deps.limit(() => readEvents(deps.db, { ...query, companyId, nowMs: deps.nowMs() }));

  function add(filter: EventFilter, after: Cursor, sink: EventSink): FeedReader {
    const reader: FeedReader = {
      filter,
      sink,
      key: filterKey(filter),
      wants: eventPredicate(filter),
      position: after,
      state: 'behind',
    };
    readers.add(reader);
    void catchUp(reader);
    return reader;
  }

  function remove(reader: FeedReader): void {
    reader.state = 'gone';
    readers.delete(reader);
    leaveLive(reader);
    if (readers.size === 0) {
      head = null;
      if (retryTimer) clearTimeout(retryTimer);
    }
  }

  function leaveLive(reader: FeedReader): void {
    const group = live.get(reader.key);
    if (group?.delete(reader) && group.size === 0) live.delete(reader.key);
  }

  function goLive(reader: FeedReader): void {
    reader.state = 'live';
    const group = live.get(reader.key);
    if (group) group.add(reader);
    else live.set(reader.key, new Set([reader]));
    head ??= reader.position;
    // What was hinted while nobody was live is looked for now.
    wake();
  }

  async function catchUp(reader: FeedReader): Promise<void> {
    while (reader.state === 'behind') {
      try {
        // The common case of a reader that begins with the present: no query of its own.
        if (head && compareCursors(reader.position, head) === 0) return goLive(reader);
        const page = await read({ ...reader.filter, after: reader.position, limit: CATCH_UP_PAGE });
        if ((reader.state as FeedReader['state']) === 'gone') return;
        if (page.ahead) reader.sink.reset(page.next);
        if (page.events.length > 0) {
          const waiting = reader.sink.write({ events: page.events, memo: new Map() });
          reader.position = page.next;
          if (waiting > HIGH_WATER_BYTES && !(await takesItAll(reader))) return;
        }
        reader.position = page.next;
        if (reader.state === 'behind' && !page.more && (!head || compareCursors(page.next, head) >= 0))
          return goLive(reader);
      } catch (err) {
        deps.log.warn({ err, companyId }, 'reading events for a stream failed, trying again');
        await delay(RETRY_MS);
      }
    }
  }

  /** Waits for the connection to empty; false when it did not within stallMs and was ended. */
  async function takesItAll(reader: FeedReader): Promise<boolean> {
    const stalled = new AbortController();
    const timeout = delay(deps.stallMs, 'stalled' as const, { signal: stalled.signal }).catch(
      () => 'drained' as const,
    );
    const outcome = await Promise.race([reader.sink.drained(), timeout]);
    stalled.abort();
    if (outcome !== 'stalled') return (reader.state as FeedReader['state']) !== 'gone';
    if ((reader.state as FeedReader['state']) !== 'gone') {
      remove(reader);
      reader.sink.end('slow_reader', reader.position);
    }
    return false;
  }

  /** Reads on for the live readers; called on a hint, by timer, and again while there is more. */
  function wake(): void {
    woken = true;
    if (!reading) void pump();
  }

  async function pump(): Promise<void> {
    reading = true;
    try {
      while (woken && live.size > 0) {
        woken = false;
        const page = await read({ after: head, limit: LIVE_PAGE });
        // The last reader left while this was on its way: the next one sets its own head.
        if (head === null) continue;
        if (page.ahead) resetAll(page.next);
        else deliver(page.events, page.next);
        head = page.next;
        if (page.more) {
          woken = true;
          continue;
        }
        // Rows that wait for an older transaction are looked for again, less and less often.
        if (page.pending) woken = true;
        pendingMs =
          page.pending && page.events.length === 0 ? Math.min(pendingMs * 2, PENDING_MAX_MS) : GAP_MS;
        await delay(pendingMs);
      }
    } catch (err) {
      deps.log.warn({ err, companyId }, 'reading the event log failed, trying again');
      if (retryTimer) clearTimeout(retryTimer);
      retryTimer = setTimeout(wake, RETRY_MS);
    } finally {
      reading = false;
    }
  }

  /** The database is an earlier one than the readers have seen: they go on from its end. */
  function resetAll(end: Cursor): void {
    deps.log.warn({ companyId }, 'the event log ends before the cursors of its readers, which are reset');
    for (const group of live.values())
      for (const reader of group) {
        reader.position = end;
        reader.sink.reset(end);
      }
  }

  function deliver(events: EventBatch['events'], next: Cursor): void {
    for (const group of live.values()) {
      let shared: EventBatch | null = null;
      for (const reader of group) {
        // One that met the others ahead of them has seen some of these already.
        const ahead = head !== null && compareCursors(reader.position, head) > 0;
        if (!ahead && !shared) shared = batchFor(reader, events);
        const batch = ahead || !shared ? batchFor(reader, events) : shared;
        if (compareCursors(next, reader.position) > 0) reader.position = next;
        if (batch.events.length === 0) continue;
        if (reader.sink.write(batch) > HIGH_WATER_BYTES) fallBehind(reader);
      }
    }
  }

  function batchFor(reader: FeedReader, events: EventBatch['events']): EventBatch {
    return {
      events: events.filter(
        (event) => reader.wants(event) && compareCursors(event.cursor, reader.position) > 0,
      ),
      memo: new Map(),
    };
  }

  function fallBehind(reader: FeedReader): void {
    leaveLive(reader);
    reader.state = 'behind';
    void takesItAll(reader).then((took) => (took ? catchUp(reader) : undefined));
  }

  return { add, remove, wake, readers, head: () => head };
}
