import { setTimeout as delay } from 'node:timers/promises';
import type { Db } from '../platform/db.ts';
import type { Limiter } from '../platform/limiter.ts';
import type { Log } from '../platform/log.ts';
import { startLoop } from '../platform/loop.ts';
import type { Cursor } from './cursor.ts';
import type { EventFilter } from './event-filter.ts';
import type { EventSink } from './event-sink.ts';
import {
  createReaderGroups,
  type FeedReader,
  FIRST_PACE,
  meetsHead,
  newReader,
  paceAfter,
  shareBatch,
  standsAtHead,
} from './feed-readers.ts';
import { type EventPage, readEvents } from './read-events.ts';

export interface CompanyFeedDeps {
  db: Db;
  log: Log;
  nowMs: () => number;
  /** Keeps the readers from taking every connection of the pool. */
  reads: Limiter;
  /** A reader that has not taken what it was given within this time is disconnected. */
  stallMs: number;
}

/** The readers of one company in this process. */
export interface CompanyFeed {
  readonly readers: ReadonlySet<FeedReader>;
  add(filter: EventFilter, after: Cursor, sink: EventSink): FeedReader;
  remove(reader: FeedReader): void;
  /** The log grew, or is to be looked at anyway. */
  wake(): void;
  /** Where the live readers stand; null while there are none. */
  head(): Cursor | null;
  /** Reads no more for the live readers. */
  stop(): Promise<void>;
}

const LIVE_PAGE = 500;
const CATCH_UP_PAGE = 100;
/** Bytes a connection may hold back before its reader counts as behind. */
const HIGH_WATER_BYTES = 256 * 1024;
const RETRY_MS = 500;

/** What the functions of one company's feed share. */
interface Context {
  deps: CompanyFeedDeps;
  companyId: number;
  readers: Set<FeedReader>;
  live: ReturnType<typeof createReaderGroups>;
  head: Cursor | null;
  wake(): void;
}

/**
 * Readers that are up to date share one query and one rendering per wake; one that is behind (it resumes, or its
 * connection is slow) reads pages of its own at its own pace until it meets the others, so nothing is buffered
 * beyond a page for it.
 */
export function createCompanyFeed(deps: CompanyFeedDeps, companyId: number): CompanyFeed {
  let pace = FIRST_PACE;
  const feed: Context = {
    deps,
    companyId,
    readers: new Set(),
    live: createReaderGroups(),
    head: null,
    wake: () => loop.wake(),
  };
  const loop = startLoop({
    everyMs: () => (pace.isPending ? 0 : Number.POSITIVE_INFINITY),
    gapMs: () => pace.pauseMs,
    retryMs: RETRY_MS,
    waitsFirst: true,
    async run() {
      const page = await readOn(feed);
      if (page?.more) return true;
      pace = page ? paceAfter(pace, page) : FIRST_PACE;
      return false;
    },
    onError: (err) => deps.log.warn({ err, companyId }, 'reading the event log failed, trying again'),
  });
  return {
    readers: feed.readers,
    add(filter, after, sink) {
      const reader = newReader(filter, after, sink);
      feed.readers.add(reader);
      void catchUp(feed, reader);
      return reader;
    },
    remove: (reader) => remove(feed, reader),
    wake: loop.wake,
    head: () => feed.head,
    stop: loop.stop,
  };
}

function read(
  { deps, companyId }: Context,
  query: EventFilter & { after: Cursor | null; limit: number },
): Promise<EventPage> {
  return deps.reads.run(() => readEvents(deps.db, { ...query, companyId, nowMs: deps.nowMs() }));
}

function remove(feed: Context, reader: FeedReader): void {
  reader.state = 'gone';
  feed.readers.delete(reader);
  feed.live.remove(reader);
  if (feed.readers.size === 0) feed.head = null;
}

function goLive(feed: Context, reader: FeedReader): void {
  reader.state = 'live';
  feed.live.add(reader);
  feed.head ??= reader.position;
  // What came while nobody was live is looked for now.
  feed.wake();
}

async function catchUp(feed: Context, reader: FeedReader): Promise<void> {
  while (reader.state === 'behind') {
    try {
      // The common case of a reader that begins with the present: no query of its own.
      if (standsAtHead(reader.position, feed.head)) return goLive(feed, reader);
      const page = await read(feed, { ...reader.filter, after: reader.position, limit: CATCH_UP_PAGE });
      if (isGone(reader)) return;
      if (page.ahead) reader.sink.reset(page.next);
      if (page.events.length > 0) {
        const waiting = reader.sink.write({ events: page.events, memo: new Map() });
        reader.position = page.next;
        if (waiting > HIGH_WATER_BYTES && !(await takesItAll(feed, reader))) return;
      }
      reader.position = page.next;
      if (!isGone(reader) && meetsHead(page, feed.head)) return goLive(feed, reader);
    } catch (err) {
      const { companyId } = feed;
      feed.deps.log.warn({ err, companyId }, 'reading events for a stream failed, trying again');
      await delay(RETRY_MS);
    }
  }
}

/** It may leave at any await. */
function isGone(reader: FeedReader): boolean {
  return reader.state === 'gone';
}

/** Waits for the connection to empty; false when it did not within stallMs and was ended. */
async function takesItAll(feed: Context, reader: FeedReader): Promise<boolean> {
  const stalled = new AbortController();
  const timeout = delay(feed.deps.stallMs, 'stalled' as const, { signal: stalled.signal }).catch(
    () => 'drained' as const,
  );
  const outcome = await Promise.race([reader.sink.drained(), timeout]);
  stalled.abort();
  if (outcome !== 'stalled') return !isGone(reader);
  if (!isGone(reader)) {
    remove(feed, reader);
    reader.sink.end('slow_reader', reader.position);
  }
  return false;
}

/** Reads the next page for the live readers. Null when there are none, or none any more. */
async function readOn(feed: Context): Promise<EventPage | null> {
  if (feed.live.isEmpty()) return null;
  const page = await read(feed, { after: feed.head, limit: LIVE_PAGE });
  // The last reader left while this was under way: the next one sets its own head.
  if (feed.head === null) return null;
  if (page.ahead) resetAll(feed, page.next);
  else deliver(feed, page);
  feed.head = page.next;
  return page;
}

/** The database is an earlier one than the readers have seen: they go on from its end. */
function resetAll({ deps, companyId, live }: Context, end: Cursor): void {
  deps.log.warn({ companyId }, 'the event log ends before the cursors of its readers, which are reset');
  for (const group of live.all())
    for (const reader of group) {
      reader.position = end;
      reader.sink.reset(end);
    }
}

function deliver(feed: Context, page: EventPage): void {
  for (const group of feed.live.all()) {
    for (const { reader, batch, position } of shareBatch(group, feed.head, page)) {
      // One before it may have ended this one's connection.
      if (isGone(reader)) continue;
      reader.position = position;
      if (batch.events.length === 0) continue;
      if (reader.sink.write(batch) > HIGH_WATER_BYTES) fallBehind(feed, reader);
    }
  }
}

function fallBehind(feed: Context, reader: FeedReader): void {
  feed.live.remove(reader);
  reader.state = 'behind';
  void takesItAll(feed, reader).then((took) => (took ? catchUp(feed, reader) : undefined));
}
