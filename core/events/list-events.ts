import { apiError } from '@posthorn/contract/api-error.ts';
import type { EventList, ListedEvent } from '@posthorn/contract/messaging/events.ts';
import type { Clock } from '../platform/clock.ts';
import type { Sql } from '../platform/db.ts';
import { decodeCursor, encodeCursor } from './cursor.ts';
import type { EventFilter } from './event-filter.ts';
import { type LoggedEvent, readEvents, readEventsBefore } from './read-events.ts';

/** A rare filter looks at this many pages of the log before the answer goes out with what was found. */
const PAGES_MAX = 20;

/**
 * `GET /v1/events`: newest first, or with `after` oldest first from there (design 7). `next_cursor`
 * goes on in the same direction and is null at the end. Throws BAD_REQUEST for a malformed cursor.
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
  let after = cursorOf(query.after, 'after');
  for (let page = 0; page < PAGES_MAX; page += 1) {
    const read = await readEvents(deps.db, {
      ...query,
      after,
      limit: query.limit - found.length,
      nowMs: deps.clock.now().getTime(),
    });
    found.push(...read.events);
    after = read.next;
    if (!read.more) return { data: found.map(toListed), next_cursor: null };
    if (found.length >= query.limit) break;
  }
  return { data: found.map(toListed), next_cursor: encodeCursor(after) };
}

async function listBackwards(deps: { db: Sql }, query: Parameters<typeof listEvents>[1]): Promise<EventList> {
  const before = query.before === undefined ? null : cursorOf(query.before, 'before');
  const { events, more } = await readEventsBefore(deps.db, { ...query, before });
  return { data: events.map(toListed), next_cursor: more ? encodeCursor(events.at(-1)!.cursor) : null };
}

/** Throws BAD_REQUEST for what no answer ever carried. */
export function cursorOf(text: string, field: string) {
  const cursor = decodeCursor(text);
  if (!cursor) throw apiError('BAD_REQUEST', { message: `${field}: not a cursor of this log` });
  return cursor;
}

function toListed(event: LoggedEvent): ListedEvent {
  return { ...JSON.parse(event.body), cursor: encodeCursor(event.cursor) };
}
