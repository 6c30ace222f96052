import { apiError } from '@posthorn/contract/api-error.ts';
import { LIST_PAGE_MAX_BYTES, WEBHOOK_PAYLOAD_RETENTION_DAYS } from '@posthorn/contract/limits.ts';
import type { EventList, ListedEvent } from '@posthorn/contract/messaging/events.ts';
import type { Sql } from '../platform/database/db.ts';
import type { Clock } from '../platform/process/clock.ts';
import { decodeCursor, encodeCursor, isExpired } from './cursor.ts';
import type { EventFilter } from './event-filter.ts';
import { type LoggedEvent, readEvents, readEventsBefore } from './read-events.ts';

/** A rare filter looks at this many pages of the log before the answer goes out with what was found. */
const PAGES_MAX = 20;

/** The room that a page still has; null when it is full, by rows or by bytes. */
function roomBeside(
  found: readonly LoggedEvent[],
  limit: number,
): { limit: number; maxBytes: number } | null {
  const maxBytes = LIST_PAGE_MAX_BYTES - found.reduce((sum, { body }) => sum + Buffer.byteLength(body), 0);
  return found.length < limit && maxBytes > 0 ? { limit: limit - found.length, maxBytes } : null;
}

/**
 * `GET /v1/events`: newest first, or with `after` oldest first from there (EVT-15). `next_cursor`
 * goes on in the same direction and is null at the end. `reset` says that events after the given cursor may be
 * missing: it had expired, or is not of this log's history. Throws BAD_REQUEST for a malformed cursor.
 */
export async function listEvents(
  deps: { db: Sql; clock: Clock },
  query: EventFilter & {
    companyId: number;
    after?: string | undefined;
    before?: string | undefined;
    limit: number;
  },
): Promise<EventList> {
  if (query.after === undefined) return listBackwards(deps, query);
  if (query.before !== undefined)
    throw apiError('BAD_REQUEST', { message: 'give after or before, not both' });
  const found: LoggedEvent[] = [];
  const nowMs = deps.clock.now().getTime();
  let after = cursorOf(query.after, 'after');
  let room = roomBeside(found, query.limit);
  const reset = isExpired(after, { nowMs, retentionDays: WEBHOOK_PAYLOAD_RETENTION_DAYS });
  for (let page = 0; room && page < PAGES_MAX; page += 1) {
    const read = await readEvents(deps.db, { ...query, ...room, after, nowMs });
    found.push(...read.events);
    after = read.next;
    if (read.ahead) return { data: [], next_cursor: encodeCursor(after), reset: true };
    // Without an event there is no other cursor to go on with, and the given one would be answered so again.
    if (!read.more) {
      const isStuck = reset && found.length === 0;
      return { data: found.map(toListed), next_cursor: isStuck ? encodeCursor(after) : null, reset };
    }
    room = roomBeside(found, query.limit);
  }
  return { data: found.map(toListed), next_cursor: encodeCursor(after), reset };
}

async function listBackwards(deps: { db: Sql }, query: Parameters<typeof listEvents>[1]): Promise<EventList> {
  const found: LoggedEvent[] = [];
  let before = query.before === undefined ? null : cursorOf(query.before, 'before');
  let room = roomBeside(found, query.limit);
  for (let page = 0; room && page < PAGES_MAX; page += 1) {
    const read = await readEventsBefore(deps.db, { ...query, ...room, before });
    found.push(...read.events);
    before = read.next;
    if (before === null) break;
    room = roomBeside(found, query.limit);
  }
  return { data: found.map(toListed), next_cursor: before && encodeCursor(before), reset: false };
}

/** Throws BAD_REQUEST for a text that no answer can have carried as a cursor. */
export function cursorOf(text: string, field: string) {
  const cursor = decodeCursor(text);
  if (!cursor) throw apiError('BAD_REQUEST', { message: `${field}: not a cursor of this log` });
  return cursor;
}

function toListed(event: LoggedEvent): ListedEvent {
  return { ...JSON.parse(event.body), cursor: encodeCursor(event.cursor) };
}
