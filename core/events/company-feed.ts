import type { Db } from '../platform/database/db.ts';
import type { Limiter } from '../platform/process/limiter.ts';
import type { Log } from '../platform/process/log.ts';
import { startLoop } from '../platform/process/loop.ts';
import type { BufferedBytes } from './buffered-bytes.ts';
import { type CatchUp, type CatchUpCompany, takesItAll } from './catch-up.ts';
import type { Cursor } from './cursor.ts';
import type { EventFilter } from './event-filter.ts';
import type { EventSink } from './event-sink.ts';
import {
  createReaderGroups,
  type FeedReader,
  FIRST_PACE,
  HIGH_WATER_BYTES,
  newReader,
  paceAfter,
  shareBatch,
} from './feed-readers.ts';
import { type EventPage, FEED_PAGE_BYTES, readEvents } from './read-events.ts';

export interface CompanyFeedDeps {
  db: Db;
  log: Log;
  nowMs: () => number;
  /** Keeps the live readers from taking every connection of the pool. */
  reads: Limiter;
  /** Reads for those that are behind. */
  catchUp: CatchUp;
  held: BufferedBytes;
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
const RETRY_MS = 500;

/** State that the functions of one company's feed share. */
interface FeedContext extends CatchUpCompany {
  deps: CompanyFeedDeps;
  readers: Set<FeedReader>;
  live: ReturnType<typeof createReaderGroups>;
  /** Where the live readers stand; null while there are none. */
  position: Cursor | null;
  wake(): void;
}

/**
 * Readers that are up to date share one query and one rendering per wake; one that is behind (it resumes, or its
 * connection is slow) gets pages by `catchUp` until it meets the others, so nothing is buffered beyond a page for it.
 */
export function createCompanyFeed(deps: CompanyFeedDeps, companyId: number): CompanyFeed {
  let pace = FIRST_PACE;
  const feed: FeedContext = {
    deps,
    companyId,
    readers: new Set(),
    live: createReaderGroups(),
    position: null,
    head: () => feed.position,
    goLive: (reader) => goLive(feed, reader),
    remove: (reader) => remove(feed, reader),
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
      deps.catchUp.add(feed, reader);
      return reader;
    },
    remove: feed.remove,
    wake: loop.wake,
    head: feed.head,
    stop: loop.stop,
  };
}

function remove(feed: FeedContext, reader: FeedReader): void {
  reader.state = 'gone';
  feed.readers.delete(reader);
  leaveLive(feed, reader);
}

/** Nothing is read on from a head without live readers: it would fall behind what it is taken for, the present. */
function leaveLive(feed: FeedContext, reader: FeedReader): void {
  feed.live.remove(reader);
  if (feed.live.isEmpty()) feed.position = null;
}

function goLive(feed: FeedContext, reader: FeedReader): void {
  reader.state = 'live';
  feed.live.add(reader);
  feed.position ??= reader.position;
  // Events that came while no reader was live are read now.
  feed.wake();
}

/** Reads the next page for the live readers. Null when there are none, or none any more. */
async function readOn(feed: FeedContext): Promise<EventPage | null> {
  if (feed.live.isEmpty()) return null;
  const { deps, companyId, position } = feed;
  const page = await deps.reads.run(() =>
    readEvents(deps.db, {
      companyId,
      after: position,
      limit: LIVE_PAGE,
      maxBytes: FEED_PAGE_BYTES,
      nowMs: deps.nowMs(),
    }),
  );
  // The last live reader left while this was under way: the next one has set its own head, or will.
  if (feed.position !== position) return null;
  // First, because a reader that steps back must be before the new position, not at it.
  feed.position = page.next;
  if (page.ahead) resetAll(feed, page.next);
  else deliver(feed, page, position);
  return page;
}

/** The database is an earlier one than the readers have seen: they go on from its end. */
function resetAll({ deps, companyId, live }: FeedContext, end: Cursor): void {
  deps.log.warn({ companyId }, 'the event log ends before the cursors of its readers, which are reset');
  for (const group of live.all())
    for (const reader of group) {
      reader.position = end;
      reader.sink.reset(end);
    }
}

function deliver(feed: FeedContext, page: EventPage, head: Cursor | null): void {
  const { catchUp, held } = feed.deps;
  for (const group of feed.live.all()) {
    for (const { reader, batch, position } of shareBatch(group, head, page)) {
      // One before it may have ended this one's connection.
      if (reader.state === 'gone') continue;
      const isWanted = batch.events.length > 0;
      if (isWanted && !held.hasRoom(feed.companyId)) {
        // It gets this page when its company has room again.
        stepBack(feed, reader);
        catchUp.add(feed, reader);
        continue;
      }
      reader.position = position;
      if (!isWanted) continue;
      const bytes = reader.sink.write(batch);
      held.note(feed.companyId, reader.sink, bytes);
      if (bytes > HIGH_WATER_BYTES) void waitFor(feed, reader);
    }
  }
}

function stepBack(feed: FeedContext, reader: FeedReader): void {
  leaveLive(feed, reader);
  reader.state = 'behind';
}

/** Its connection is slow: it reads on when it has taken what it was given. */
async function waitFor(feed: FeedContext, reader: FeedReader): Promise<void> {
  stepBack(feed, reader);
  if (await takesItAll(feed, reader, feed.deps.stallMs)) feed.deps.catchUp.add(feed, reader);
}
