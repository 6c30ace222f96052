import type { EventEmitter } from 'node:events';
import { apiError } from '@posthorn/contract/api-error.ts';
import type { Principal } from '@posthorn/core/accounts/principal.ts';
import type { Cursor } from '@posthorn/core/events/cursor.ts';
import type { EventFeed } from '@posthorn/core/events/event-feed.ts';
import type { EventFilter } from '@posthorn/core/events/event-filter.ts';
import type { EventSink } from '@posthorn/core/events/event-sink.ts';
import { cursorOf } from '@posthorn/core/events/list-events.ts';
import type { Bus } from '@posthorn/core/platform/bus.ts';
import type { Sql } from '@posthorn/core/platform/db.ts';

/** What SSE and WebSocket ask for: the validated query of the contract. */
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
  after: Cursor | null;
  filter: EventFilter;
}

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/**
 * Resolves what a live connection asked for, before its answer has begun, so that faults are still
 * ordinary errors: BAD_REQUEST for a malformed cursor, INSTANCE_NOT_FOUND for a foreign instance.
 */
export async function resolveLiveQuery(
  deps: { db: Sql },
  request: { principal: Principal; query: LiveQuery; lastEventId?: string | undefined },
): Promise<ResolvedQuery> {
  const { principal, query } = request;
  if (query.instance_id !== undefined) await requireInstance(deps.db, principal.companyId, query.instance_id);
  // A browser that reconnects repeats the URL it began with; what it saw last is in the header.
  const cursor = request.lastEventId || query.after;
  return {
    companyId: principal.companyId,
    after: cursor === undefined ? null : cursorOf(cursor, 'after'),
    filter: { instanceId: query.instance_id?.toLowerCase() ?? null, types: query.types ?? null },
  };
}

/** Throws INSTANCE_NOT_FOUND for an instance that is unknown or of another company. */
export async function requireInstance(db: Sql, companyId: number, instanceId: string): Promise<void> {
  const { rowCount } = UUID.test(instanceId)
    ? await db.query('SELECT 1 FROM instances WHERE id = $1 AND company_id = $2', [instanceId, companyId])
    : { rowCount: 0 };
  if (!rowCount) throw apiError('INSTANCE_NOT_FOUND');
}

/** The credentials of a live connection, from the moment they were proven. */
export interface WatchedCredentials {
  /** `end` is called once, when something about them changes; at once when it already has. */
  onChanged(end: () => void): void;
  /** To be called when the connection is closed. */
  forget(): void;
}

/** The live connections of this process by who opened them. */
export interface LiveConnections {
  watch(principal: Principal): WatchedCredentials;
}

/** After the bus was away, connections are ended within this time, not all at once. */
const SPREAD_MS = 1_000;

/**
 * Ends the connections of a company, user or key when something about it changed (suspended, revoked,
 * password changed): whoever may still come back does so at once with its cursor, and proves it anew. What
 * changed while the bus was away nobody knows: then everybody does.
 */
export function createLiveConnections(deps: { bus: Bus }): LiveConnections {
  const byOwner = new Map<string, Set<() => void>>();
  const all = new Set<() => void>();
  deps.bus.on('auth', (payload) => {
    for (const change of [...(byOwner.get(payload) ?? [])]) change();
  });
  deps.bus.onReset((up) => {
    if (up) for (const change of all) setTimeout(change, Math.random() * SPREAD_MS).unref();
  });
  return {
    watch(principal) {
      const owners = [
        `company:${principal.companyId}`,
        `user:${principal.userId}`,
        ...(principal.tokenId === null ? [] : [`token:${principal.tokenId}`]),
      ];
      let changed = false;
      let end: (() => void) | null = null;
      const change = () => {
        if (!all.has(change)) return;
        forget();
        changed = true;
        end?.();
      };
      const forget = () => {
        all.delete(change);
        for (const owner of owners) {
          const set = byOwner.get(owner);
          if (set?.delete(change) && set.size === 0) byOwner.delete(owner);
        }
      };
      all.add(change);
      for (const owner of owners) {
        const set = byOwner.get(owner);
        if (set) set.add(change);
        else byOwner.set(owner, new Set([change]));
      }
      return {
        onChanged(onEnd) {
          end = onEnd;
          if (changed) onEnd();
        },
        forget,
      };
    },
  };
}

/**
 * Subscribes a connection whose head is out, until it closes or its credentials change. Rejects when the log
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
  close = () => subscription.close();
  if (over) close();
  else
    credentials.onChanged(() => {
      sink.end('credentials_changed', subscription.position());
      subscription.close();
    });
}
