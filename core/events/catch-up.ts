import { setTimeout as delay } from 'node:timers/promises';
import type { Db } from '../platform/database/db.ts';
import type { Log } from '../platform/process/log.ts';
import { withTimeout } from '../platform/process/with-timeout.ts';
import type { BufferedBytes } from './buffered-bytes.ts';
import { type Cursor, compareCursors } from './cursor.ts';
import type { EventBatch } from './event-sink.ts';
import { type FeedReader, HIGH_WATER_BYTES, meetsHead, standsAtHead } from './feed-readers.ts';
import { type EventPage, FEED_PAGE_BYTES, readEvents } from './read-events.ts';

export interface CatchUpDeps {
  db: Db;
  log: Log;
  nowMs: () => number;
  /** A reader that has not taken what it was given within this time is disconnected. */
  stallMs: number;
  held: BufferedBytes;
}

/** The company that a reader is of, as catching up sees it. */
export interface CatchUpCompany {
  companyId: number;
  /** Where the live readers stand; null while there are none. */
  head(): Cursor | null;
  goLive(reader: FeedReader): void;
  remove(reader: FeedReader): void;
}

/** Reads for the readers of all companies in this process that are behind. */
export interface CatchUp {
  /** The reader gets pages from its position on, until it meets the live readers of its company. */
  add(company: CatchUpCompany, reader: FeedReader): void;
  /** Room was made: somebody may be waiting for it. */
  pump(): void;
}

/** Companies that are read for at the same time; the live readers have reads of their own. */
const READS_AT_ONCE = 2;
const PAGE_ROWS = 100;
const RETRY_MS = 500;

/** The readers of a company that wait for a page, the one that has waited longest first. */
interface Line {
  company: CatchUpCompany;
  waiting: Set<FeedReader>;
  isReading: boolean;
}

/**
 * Companies take turns: one page for one of them, then the next one (decision 0031). A company has one read at a time,
 * whose page goes to all of its readers that are at the same position and want the same.
 */
export function createCatchUp(deps: CatchUpDeps): CatchUp {
  /** In the order of their turns. */
  const lines = new Map<number, Line>();
  let reads = 0;

  function add(company: CatchUpCompany, reader: FeedReader): void {
    const line = lines.get(company.companyId) ?? { company, waiting: new Set(), isReading: false };
    line.company = company;
    line.waiting.add(reader);
    lines.set(company.companyId, line);
    pump();
  }

  function pump(): void {
    while (reads < READS_AT_ONCE) {
      const line = nextLine();
      if (!line) return;
      reads += 1;
      line.isReading = true;
      void serve(line).finally(() => {
        reads -= 1;
        pump();
      });
    }
  }

  function nextLine(): Line | null {
    for (const [companyId, line] of lines) {
      if (line.isReading || !deps.held.hasRoom(companyId)) continue;
      lines.delete(companyId);
      lines.set(companyId, line);
      return line;
    }
    return null;
  }

  /** One page; the line is free for its next turn afterwards, a moment later when reading failed. */
  async function serve(line: Line): Promise<void> {
    const { companyId } = line.company;
    const finish = () => {
      line.isReading = false;
      if (line.waiting.size === 0) lines.delete(companyId);
    };
    try {
      const first = leader(line);
      if (first) share(line, first, await read(deps, companyId, first));
      finish();
    } catch (err) {
      deps.log.warn({ err, companyId }, 'reading events for a stream failed, trying again');
      void delay(RETRY_MS).then(() => {
        finish();
        pump();
      });
    }
  }

  /** Hands the page to the reader that it was read for, and to those beside it while there is room. */
  function share(line: Line, first: FeedReader, page: EventPage): void {
    const batch: EventBatch = { events: page.events, memo: new Map() };
    const start = first.position;
    const beside = [...line.waiting].filter(
      (reader) =>
        reader !== first && reader.key === first.key && compareCursors(reader.position, start) === 0,
    );
    for (const reader of [first, ...beside]) {
      if (reader !== first && !deps.held.hasRoom(line.company.companyId)) return;
      line.waiting.delete(reader);
      if (reader.state === 'behind')
        hand(deps, line.company, reader, { page, batch })
          .then((readsOn) => readsOn && add(line.company, reader))
          .catch(onLost(deps, line, reader));
    }
  }

  return { add, pump };
}

/**
 * The reader whose turn it is. Readers that left are dropped, and readers at the live readers' position need no query.
 */
function leader({ company, waiting }: Line): FeedReader | null {
  for (const reader of waiting) {
    if (reader.state === 'behind' && !standsAtHead(reader.position, company.head())) return reader;
    waiting.delete(reader);
    if (reader.state === 'behind') company.goLive(reader);
  }
  return null;
}

function read(deps: CatchUpDeps, companyId: number, { filter, position }: FeedReader): Promise<EventPage> {
  const page = { after: position, limit: PAGE_ROWS, maxBytes: FEED_PAGE_BYTES };
  return readEvents(deps.db, { ...filter, ...page, companyId, nowMs: deps.nowMs() });
}

/** Nothing that a connection does throws; if it ever did, its reader alone would be cut off. */
function onLost(deps: CatchUpDeps, { company }: Line, reader: FeedReader): (err: unknown) => void {
  return (err) => {
    deps.log.warn({ err, companyId: company.companyId }, 'handing events to a stream failed');
    company.remove(reader);
    reader.sink.end('slow_reader', reader.position);
  };
}

/** Writes a page to one reader, waits while its connection is full, and says whether it reads on. */
async function hand(
  deps: CatchUpDeps,
  company: CatchUpCompany,
  reader: FeedReader,
  { page, batch }: { page: EventPage; batch: EventBatch },
): Promise<boolean> {
  if (page.ahead) reader.sink.reset(page.next);
  reader.position = page.next;
  if (batch.events.length > 0) reader.wasFed = true;
  const bytes = batch.events.length === 0 ? 0 : reader.sink.write(batch);
  deps.held.note(company.companyId, reader.sink, bytes);
  if (bytes > HIGH_WATER_BYTES && !(await takesItAll(company, reader, deps.stallMs))) return false;
  if (isGone(reader)) return false;
  if (!meetsHead(page, company.head())) return true;
  company.goLive(reader);
  return false;
}

/** It may leave at any await. */
function isGone(reader: FeedReader): boolean {
  return reader.state === 'gone';
}

/** Waits for the connection to empty; false when it did not within stallMs and was ended. */
export async function takesItAll(
  company: Pick<CatchUpCompany, 'remove'>,
  reader: FeedReader,
  stallMs: number,
): Promise<boolean> {
  const outcome = await withTimeout(reader.sink.drained(), stallMs, () => 'stalled' as const);
  if (outcome !== 'stalled') return !isGone(reader);
  if (!isGone(reader)) {
    company.remove(reader);
    reader.sink.end('slow_reader', reader.position);
  }
  return false;
}
