import type { Sql } from '../platform/database/db.ts';
import { DAY_MS, MINUTE_MS } from '../platform/durations.ts';
import { type Cursor, compareCursors } from './cursor.ts';
import { eventBodySql } from './event-body.ts';
import { type EventFilter, likePatterns } from './event-filter.ts';

/** One event of the log with its position; `body` is its JSON as consumers get it. */
export interface LoggedEvent {
  cursor: Cursor;
  eventId: string;
  type: string;
  instanceId: string | null;
  body: string;
}

export interface EventPage {
  /** Oldest first. */
  events: LoggedEvent[];
  /** Where to read on: past everything that this page looked at, matching or not. */
  next: Cursor;
  /** The page was full, of rows or of bytes: there is more to read at once. */
  more: boolean;
  /** Rows exist that may not be shown yet, because a transaction older than theirs is still running. */
  pending: boolean;
  /**
   * The cursor stood beyond the end of the log: it is of another history (a backup was restored, a standby that
   * was behind took over), and what came since is not to be told from what its holder saw. `next` is the end.
   */
  ahead: boolean;
}

/** Bytes of the bodies on one page for a stream, one event at any rate: more is read at once, and waits for nobody. */
export const FEED_PAGE_BYTES = 256 * 1024;
/** Size of an event's body beside its data. */
const ENVELOPE_BYTES = 256;
/** Rows that a filtered page may look at for each one it may return: bounds what a rare filter costs. */
const SCAN_FACTOR = 10;
/** A row can carry an earlier created_at than one before it in the log; never by a day, unless the database's clock was set back. */
const SKEW_MS = DAY_MS;
/** A cursor of another process is hardly ahead of this one's time; one that is was given before the clock was set back. */
const AHEAD_MS = MINUTE_MS;

interface PageQuery extends EventFilter {
  companyId: number;
  limit: number;
  /** Maximum size of all bodies together; the first event is read at any size. */
  maxBytes: number;
}

/**
 * Reads the log of a company onwards from a cursor; `after: null` reads from the oldest event kept.
 * A page shows only transactions older than every one still running (`event_horizon`), so that
 * an event that commits late is not skipped; the price is that a long transaction delays readers.
 */
export async function readEvents(
  db: Sql,
  query: PageQuery & { after: Cursor | null; nowMs: number },
): Promise<EventPage> {
  const after = query.after ?? { tx: 0, id: 0, atMs: SKEW_MS };
  const fromMs = after.atMs > query.nowMs + AHEAD_MS ? 0 : after.atMs - SKEW_MS;
  const types = likePatterns(query);
  const filtered = types !== null || Boolean(query.instanceId);
  const scan = query.limit * (filtered ? SCAN_FACTOR : 1);
  const { rows } = await db.query<Row>({
    name: 'events-read-after',
    text: READ_AFTER,
    values: [
      query.companyId,
      after.tx,
      after.id,
      new Date(fromMs),
      query.instanceId ?? null,
      types,
      scan,
      query.maxBytes,
      query.hidden ?? [],
    ],
  });
  const horizon = rows[0]!.horizon;
  // Everything below the horizon was seen, so an idle reader's cursor moves on with the time.
  const end = { tx: horizon, id: 0, atMs: query.nowMs };
  if (compareCursors(after, end) > 0) return { ...NO_EVENTS, next: end, ahead: true };
  const events: LoggedEvent[] = [];
  let last: Cursor | null = null;
  let pending = false;
  for (const row of rows) {
    if (row.tx === null) break;
    if (row.tx >= horizon) {
      pending = true;
      break;
    }
    if (row.is_over || events.length === query.limit)
      return { ...NO_EVENTS, events, next: last!, more: true };
    last = { tx: row.tx, id: row.id, atMs: row.at_ms };
    if (row.body !== null) events.push(toEvent(row, last));
  }
  if (last && !pending && rows.length === scan) return { ...NO_EVENTS, events, next: last, more: true };
  return { ...NO_EVENTS, events, next: end, pending };
}

const NO_EVENTS = { events: [], more: false, pending: false, ahead: false };

/** Where the log ends at this moment: a reader that starts here sees what commits from now on. */
export async function readEventsEnd(db: Sql, nowMs: number): Promise<Cursor> {
  const { rows } = await db.query<{ horizon: number }>({
    name: 'events-end',
    text: 'SELECT event_horizon() AS horizon',
  });
  return { tx: rows[0]!.horizon, id: 0, atMs: nowMs };
}

/** Newest first, from the end of the log or from before a cursor; `next` is null at the beginning of the log. */
export async function readEventsBefore(
  db: Sql,
  query: PageQuery & { before: Cursor | null },
): Promise<{ events: LoggedEvent[]; next: Cursor | null }> {
  const types = likePatterns(query);
  const scan = query.limit * (types !== null || query.instanceId ? SCAN_FACTOR : 1) + 1;
  const { rows } = await db.query<Row>({
    name: 'events-read-before',
    text: READ_BEFORE,
    values: [
      query.companyId,
      query.before?.tx ?? Number.MAX_SAFE_INTEGER,
      query.before?.id ?? 0,
      query.instanceId ?? null,
      types,
      scan,
      query.maxBytes,
      query.hidden ?? [],
    ],
  });
  const events: LoggedEvent[] = [];
  let last: Cursor | null = null;
  for (const row of rows) {
    if (row.is_over || events.length === query.limit) return { events, next: last };
    last = { tx: row.tx!, id: row.id, atMs: row.at_ms };
    if (row.body !== null) events.push(toEvent(row, last));
  }
  return { events, next: rows.length === scan ? last : null };
}

/** The JSON of one event; null for one that is unknown, foreign, hidden or past its retention. */
export async function readEvent(
  db: Sql,
  query: { companyId: number; eventId: string; hidden: readonly string[] },
): Promise<string | null> {
  const { rows } = await db.query<{ body: string }>({
    name: 'event-read',
    text: `SELECT ${eventBodySql('e')} AS body FROM events e
           WHERE event_id = $1 AND company_id = $2 AND type <> ALL ($3)`,
    values: [query.eventId, query.companyId, query.hidden],
  });
  return rows[0]?.body ?? null;
}

interface Row {
  horizon: number;
  tx: number | null;
  id: number;
  at_ms: number;
  event_id: string;
  type: string;
  instance_id: string | null;
  /** It would be shown, and the page is full. */
  is_over: boolean;
  body: string | null;
}

function toEvent(row: Row, cursor: Cursor): LoggedEvent {
  return {
    cursor,
    eventId: row.event_id,
    type: row.type,
    instanceId: row.instance_id,
    body: row.body!,
  };
}

/**
 * That an event is of an instance (parameter `at`) and of certain types (the one after it), where given, and of none that is
 * hidden (parameter `hidden`).
 */
function matches(at: number, hidden: number): string {
  return `($${at}::uuid IS NULL OR e.instance_id = $${at})
    AND ($${at + 1}::text[] IS NULL OR e.type LIKE ANY ($${at + 1})) AND e.type <> ALL ($${hidden}::text[])`;
}

/**
 * Rows in an order, each with its body when it is shown and the page has room for it. Sizes are summed up from what the
 * insert has written beside each event, so that no body is made, or even decompressed, that does not go out; test
 * events of webhooks, which have no size, are measured.
 */
function pageSql(page: { shown: string; from: string; order: string; maxBytes: string }): string {
  return `
  SELECT e.tx, e.id, (extract(epoch FROM e.created_at) * 1000)::bigint AS at_ms, e.event_id, e.type, e.instance_id,
    coalesce(e.is_over, false) AS is_over,
    CASE WHEN e.own_bytes IS NOT NULL AND NOT e.is_over THEN ${eventBodySql('e')} END AS body
  FROM (
    SELECT s.*, sum(s.own_bytes) OVER (ORDER BY ${page.order} ROWS UNBOUNDED PRECEDING) > greatest(s.own_bytes, ${page.maxBytes})
      AS is_over
    FROM (
      SELECT e.*, CASE WHEN ${page.shown}
        THEN coalesce(e.size_bytes, octet_length(e.data::text)) + ${ENVELOPE_BYTES} END AS own_bytes
      ${page.from}
    ) s
  ) e
  ORDER BY ${page.order}`;
}

// The horizon and the rows come from one snapshot: a row at or past the horizon is cut off by the
// reader, and tells it that there is more to come as soon as the older transactions end. The lower bound
// of created_at keeps the scan off the partitions of past days.
const READ_AFTER = `
SELECT h.horizon, r.*
FROM (SELECT event_horizon() AS horizon) h
LEFT JOIN LATERAL (${pageSql({
  shown: `e.tx < h.horizon AND ${matches(5, 9)}`,
  from: `FROM events e
      WHERE e.company_id = $1 AND (e.tx, e.id) > ($2::bigint, $3::bigint) AND e.created_at >= $4
      ORDER BY e.tx, e.id
      LIMIT $7`,
  order: 'tx, id',
  maxBytes: '$8::int',
})}
) r ON true`;

const READ_BEFORE = pageSql({
  shown: matches(4, 8),
  from: `FROM events e
      WHERE e.company_id = $1 AND (e.tx, e.id) < (least($2::bigint, event_horizon()), $3::bigint)
      ORDER BY e.tx DESC, e.id DESC
      LIMIT $6`,
  order: 'tx DESC, id DESC',
  maxBytes: '$7::int',
});
