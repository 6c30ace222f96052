/** Where the readers of a company stand, and who gets what of a page: decisions alone, without I/O or a clock. */
import { type Cursor, compareCursors } from './cursor.ts';
import { type EventFilter, eventPredicate, filterKey } from './event-filter.ts';
import type { EventBatch, EventSink } from './event-sink.ts';
import type { EventPage, LoggedEvent } from './read-events.ts';

export interface FeedReader {
  filter: EventFilter;
  sink: EventSink;
  key: string;
  wants: ReturnType<typeof eventPredicate>;
  /** Everything up to here was handed to the sink or is of no interest to it. */
  position: Cursor;
  state: 'behind' | 'live' | 'gone';
  /** It was handed events since the last heartbeat. */
  wasFed: boolean;
}

/** Bytes a connection may hold back before its reader counts as behind. */
export const HIGH_WATER_BYTES = 256 * 1024;
/** The least time between two reads of one company: what commits meanwhile goes in one batch. */
const GAP_MS = 5;
const PENDING_MAX_MS = 50;

export function newReader(filter: EventFilter, after: Cursor, sink: EventSink): FeedReader {
  return {
    filter,
    sink,
    key: filterKey(filter),
    wants: eventPredicate(filter),
    position: after,
    state: 'behind',
    wasFed: false,
  };
}

/**
 * Whether a reader needs a sign of life now: one that is up to date does, and one that is behind and finds nothing that it
 * wants. One that takes what it missed does not: a ping behind all of that would be answered late.
 */
export function needsHeartbeat(reader: Pick<FeedReader, 'state' | 'wasFed'>): boolean {
  return reader.state === 'live' || (reader.state === 'behind' && !reader.wasFed);
}

/** Whether a position is that of the live readers; `head` is null while there are none. */
export function standsAtHead(position: Cursor, head: Cursor | null): boolean {
  return head !== null && compareCursors(position, head) === 0;
}

/** This page of a reader that was behind has brought it to where the live readers are, or further. */
export function meetsHead(page: Pick<EventPage, 'more' | 'next'>, head: Cursor | null): boolean {
  return !page.more && (head === null || compareCursors(page.next, head) >= 0);
}

/** How the reading of a company goes on after a page. */
export interface Pace {
  /** Rows wait for an older transaction: they are looked for again without a wake. */
  isPending: boolean;
  /** Until the next read at least. */
  pauseMs: number;
}

export const FIRST_PACE: Pace = { isPending: false, pauseMs: GAP_MS };

/** Rows that wait are looked for less and less often, until something comes. */
export function paceAfter(pace: Pace, page: Pick<EventPage, 'pending' | 'events'>): Pace {
  const waits = page.pending && page.events.length === 0;
  return {
    isPending: page.pending,
    pauseMs: waits ? Math.min(pace.pauseMs * 2, PENDING_MAX_MS) : GAP_MS,
  };
}

/** The events of a page that this reader wants and has not seen. */
export function batchFor(
  reader: Pick<FeedReader, 'wants' | 'position'>,
  events: readonly LoggedEvent[],
): EventBatch {
  return {
    events: events.filter(
      (event) => reader.wants(event) && compareCursors(event.cursor, reader.position) > 0,
    ),
    memo: new Map(),
  };
}

/**
 * The events of a page that each reader of a group gets, and its position afterwards. The readers have equal
 * filters and share one batch; one that met the others ahead of `head` has seen some of these already and gets
 * one of its own.
 */
export function shareBatch<R extends Pick<FeedReader, 'wants' | 'position'>>(
  group: Iterable<R>,
  head: Cursor | null,
  page: Pick<EventPage, 'events' | 'next'>,
): { reader: R; batch: EventBatch; position: Cursor }[] {
  let shared: EventBatch | null = null;
  return [...group].map((reader) => {
    const isAhead = head !== null && compareCursors(reader.position, head) > 0;
    if (!isAhead) shared ??= batchFor(reader, page.events);
    const batch = isAhead || !shared ? batchFor(reader, page.events) : shared;
    const position = compareCursors(page.next, reader.position) > 0 ? page.next : reader.position;
    return { reader, batch, position };
  });
}

/** The live readers, in groups of those that get the same. */
export function createReaderGroups() {
  const groups = new Map<string, Set<FeedReader>>();
  return {
    add(reader: FeedReader): void {
      const group = groups.get(reader.key);
      if (group) group.add(reader);
      else groups.set(reader.key, new Set([reader]));
    },
    remove(reader: FeedReader): void {
      const group = groups.get(reader.key);
      if (group?.delete(reader) && group.size === 0) groups.delete(reader.key);
    },
    isEmpty: () => groups.size === 0,
    all: () => groups.values(),
  };
}
