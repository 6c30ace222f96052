import type { EventEmitter } from 'node:events';
import { requireInstance } from '@posthorn/core/access/instance-scope.ts';
import type { Principal } from '@posthorn/core/access/principal.ts';
import type { Cursor } from '@posthorn/core/events/cursor.ts';
import type { EventFeed } from '@posthorn/core/events/event-feed.ts';
import { type EventFilter, hiddenFrom } from '@posthorn/core/events/event-filter.ts';
import type { EventSink } from '@posthorn/core/events/event-sink.ts';
import { cursorOf } from '@posthorn/core/events/list-events.ts';
import type { Sql } from '@posthorn/core/platform/database/db.ts';
import type { WatchedCredentials } from './live-connections.ts';

/** The query of SSE and WebSocket requests, validated by the contract. */
export interface LiveQuery {
  instance_id?: string | undefined;
  types?: string[] | undefined;
  after?: string | undefined;
}

export interface LiveStreamDeps {
  db: Sql;
  feed: EventFeed;
}

export interface ResolvedQuery {
  companyId: number;
  after: Cursor;
  /** The request had no cursor: `after` is the end of the log before the answer began. */
  isNew: boolean;
  filter: EventFilter;
}

/**
 * Resolves the query of a live connection before its answer begins, so that faults are still ordinary errors:
 * BAD_REQUEST for a malformed cursor, INSTANCE_NOT_FOUND for a foreign instance. The current end of the log
 * is read here too, so that no event committed after the headers arrived is missed.
 */
export async function resolveLiveQuery(
  deps: LiveStreamDeps,
  request: { principal: Principal; query: LiveQuery; lastEventId?: string | undefined },
): Promise<ResolvedQuery> {
  const { principal, query } = request;
  if (query.instance_id !== undefined)
    await requireOwnInstance(deps.db, principal.companyId, query.instance_id);
  // A reconnecting browser repeats its original URL; the last event it saw is in the header.
  const cursor = request.lastEventId || query.after;
  return {
    companyId: principal.companyId,
    after: cursor === undefined ? await deps.feed.present(principal.companyId) : cursorOf(cursor, 'after'),
    isNew: cursor === undefined,
    filter: {
      instanceId: query.instance_id?.toLowerCase() ?? null,
      types: query.types ?? null,
      hidden: hiddenFrom(principal),
    },
  };
}

/** The live routes show one company's events, also to a superadmin. Throws INSTANCE_NOT_FOUND. */
export async function requireOwnInstance(sql: Sql, companyId: number, instanceId: string): Promise<void> {
  await requireInstance(sql, { companyId, isSuperadmin: false }, instanceId);
}

/**
 * Subscribes a connection whose headers are sent, until it closes or its credentials end. Rejects if the log
 * can't be read.
 */
export async function serveReader(
  feed: EventFeed,
  reader: {
    resolved: ResolvedQuery;
    sink: EventSink;
    credentials: WatchedCredentials;
    /** Emits `close`. */
    connection: EventEmitter;
    isClosed: boolean;
  },
): Promise<void> {
  const { resolved, sink, credentials, connection } = reader;
  let over = reader.isClosed;
  let close = () => {
    over = true;
  };
  connection.once('close', () => {
    credentials.forget();
    close();
  });
  const subscription = await feed.subscribe({ ...resolved, sink });
  // If cut before its first event, the client can resume from here.
  if (resolved.isNew) sink.heartbeat(subscription.position());
  close = () => subscription.close();
  if (over) close();
  else
    credentials.onEnd((reason) => {
      sink.end(reason, subscription.position());
      subscription.close();
    });
}
