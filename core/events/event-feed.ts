import type { Bus } from '../platform/broker/bus.ts';
import type { Db } from '../platform/database/db.ts';
import type { Clock } from '../platform/process/clock.ts';
import { createLimiter } from '../platform/process/limiter.ts';
import type { Log } from '../platform/process/log.ts';
import { createBufferedBytes } from './buffered-bytes.ts';
import { createCatchUp } from './catch-up.ts';
import { type CompanyFeed, createCompanyFeed } from './company-feed.ts';
import { type Cursor, isExpired } from './cursor.ts';
import type { EventFilter } from './event-filter.ts';
import type { EventSink } from './event-sink.ts';
import { type FeedReader, needsHeartbeat } from './feed-readers.ts';
import { readEventsEnd } from './read-events.ts';

export interface EventFeed {
  /** Where a reader begins that wants what commits from now on. */
  present(companyId: number): Promise<Cursor>;
  /**
   * Hands the events of a company to `sink`, in order, each once: those after the cursor first, then
   * what commits. A cursor that expired, or that is not of this log, is answered by a reset; behind an expired one
   * follows what the log still has.
   */
  subscribe(reader: {
    companyId: number;
    after: Cursor;
    filter: EventFilter;
    sink: EventSink;
  }): Promise<EventSubscription>;
  /** Connected readers that are up to date, those that are not, and how far the last of these is behind. */
  readers(): { live: number; behind: number; lagMs: number };
  close(): Promise<void>;
}

export interface EventSubscription {
  /** The cursor to come back with. */
  position(): Cursor;
  /** To be called when the connection has closed, for whatever reason. */
  close(): void;
}

export interface EventFeedDeps {
  db: Db;
  bus: Bus;
  clock: Clock;
  log: Log;
  /** Days the log is kept (EVT-10). */
  retentionDays: number;
  /** Time between heartbeats. Default 15 s. */
  heartbeatMs?: number;
  /** How often every company with readers is looked at although no notification came. Default 5 s. */
  sweepMs?: number;
  /** A reader that has not taken what it was given within this time is disconnected. Default 15 s. */
  stallMs?: number;
}

/** Reads take connections of the pool that the accept uses as well; catching up has two more. */
const CONCURRENT_READS = 2;
/** Notifications are lost while the bus is away: look often then. */
const SWEEP_BLIND_MS = 500;

/** The live end of the event log: one for a process, shared by its SSE and WebSocket connections. */
export function createEventFeed(deps: EventFeedDeps): EventFeed {
  const companies = new Map<number, CompanyFeed>();
  const reads = createLimiter(CONCURRENT_READS);
  const nowMs = () => deps.clock.now().getTime();
  const stallMs = deps.stallMs ?? 15_000;
  const held = createBufferedBytes(() => catchUp.pump());
  const catchUp = createCatchUp({ db: deps.db, log: deps.log, nowMs, stallMs, held });
  let closed = false;

  deps.bus.on('events', (payload) => companies.get(Number(payload))?.wake());
  deps.bus.onReset(() => sweep());

  function sweep(): void {
    for (const company of companies.values()) company.wake();
  }

  const sweepTimer = startSweep(deps, sweep);
  const heartbeatTimer = setInterval(() => {
    for (const company of companies.values()) sendHeartbeats(company.readers);
  }, deps.heartbeatMs ?? 15_000);

  function feedOf(companyId: number) {
    let company = companies.get(companyId);
    if (!company) {
      const { db, log } = deps;
      company = createCompanyFeed({ db, log, nowMs, reads, catchUp, held, stallMs }, companyId);
      companies.set(companyId, company);
    }
    return company;
  }

  async function present(companyId: number): Promise<Cursor> {
    return companies.get(companyId)?.head() ?? (await reads.run(() => readEventsEnd(deps.db, nowMs())));
  }

  return {
    present,
    async subscribe({ companyId, after, filter, sink }) {
      // The events that the log still has follow all the same, as in the list.
      if (isExpired(after, { nowMs: nowMs(), retentionDays: deps.retentionDays })) sink.reset(after);
      // In the turn in which the feed of the company is looked up: a moment later its last reader may have left.
      const company = feedOf(companyId);
      const reader: FeedReader = company.add(filter, after, sink);
      if (closed) {
        company.remove(reader);
        sink.end('shutdown', reader.position);
      }
      return {
        position: () => reader.position,
        close() {
          company.remove(reader);
          if (company.readers.size > 0 || companies.get(companyId) !== company) return;
          companies.delete(companyId);
          void company.stop();
        },
      };
    },
    readers: () =>
      lagOf(
        [...companies.values()].flatMap((company) => [...company.readers]),
        nowMs(),
      ),
    async close() {
      closed = true;
      clearInterval(sweepTimer);
      clearInterval(heartbeatTimer);
      const all = [...companies.values()];
      companies.clear();
      for (const company of all)
        for (const reader of [...company.readers]) {
          company.remove(reader);
          reader.sink.end('shutdown', reader.position);
        }
      await Promise.all(all.map((company) => company.stop()));
    },
  };
}

function sendHeartbeats(readers: Iterable<FeedReader>): void {
  for (const reader of readers) {
    if (needsHeartbeat(reader)) reader.sink.heartbeat(reader.position);
    reader.wasFed = false;
  }
}

function lagOf(readers: readonly FeedReader[], nowMs: number): ReturnType<EventFeed['readers']> {
  const behind = readers.filter(({ state }) => state === 'behind');
  const oldestMs = behind.reduce((oldest, { position }) => Math.min(oldest, position.atMs), nowMs);
  return { live: readers.length - behind.length, behind: behind.length, lagMs: nowMs - oldestMs };
}

/** Looks at every company by timer: now and then, and often while the bus is away. */
function startSweep({ bus, sweepMs = 5_000 }: EventFeedDeps, sweep: () => void): NodeJS.Timeout {
  let sweptAt = performance.now();
  return setInterval(
    () => {
      if (bus.isUp() && performance.now() - sweptAt < sweepMs) return;
      sweptAt = performance.now();
      sweep();
    },
    Math.min(SWEEP_BLIND_MS, sweepMs),
  );
}
