import { apiError } from '@posthorn/contract/api-error.ts';
import { encodeCursor } from '@posthorn/core/events/cursor.ts';
import type { EventBatch, EventSink } from '@posthorn/core/events/event-sink.ts';
import { type WebSocket, WebSocketServer } from 'ws';
import type { HandlerInput } from './call.ts';
import { type LiveQuery, type LiveStreamDeps, resolveLiveQuery, serveReader } from './event-stream.ts';
import type { LiveConnections } from './live-connections.ts';

/** Clients only send pongs and a close. */
const INBOUND_MAX_BYTES = 1024;
const LINGER_MS = 5_000;
const PONG_WITHIN_MS = 10_000;
/** Private close codes (RFC 6455 7.4.2); the close reason is the cursor to reconnect with. */
const CLOSE_CODES = {
  shutdown: 1012,
  slow_reader: 4008,
  credentials_changed: 4001,
  credentials_expired: 4003,
} as const;
const CLOSE_TRY_AGAIN = 1013;

export interface EventSockets {
  /** Takes over an upgrade to `GET /v1/events/ws`. Throws ApiError before the handshake is answered. */
  accept(
    input: Pick<HandlerInput, 'principal' | 'startedAt' | 'takeUpgrade'> & { query: LiveQuery },
  ): Promise<void>;
  close(): void;
}

/**
 * The event log over WebSocket. Text frames: an event with its `cursor`; `{"reset": ...}` if the cursor has
 * expired or belongs to another log; and every 15 s `{"heartbeat": {"cursor"}}` with a ping. A peer that does
 * not answer the ping is dropped at a later heartbeat, but not necessarily at the next, which may follow
 * right after it connected.
 */
export function createEventSockets(
  deps: LiveStreamDeps & {
    connections: LiveConnections;
    /**
     * How long a peer may leave a ping unanswered. Default 10 s: less than the time between two heartbeats.
     */
    pongWithinMs?: number;
  },
): EventSockets {
  const server = new WebSocketServer({
    noServer: true,
    maxPayload: INBOUND_MAX_BYTES,
    perMessageDeflate: false,
  });

  return {
    async accept(input) {
      const credentials = deps.connections.watch(input.principal, input.startedAt);
      try {
        const resolved = await resolveLiveQuery(deps, input);
        const upgrade = input.takeUpgrade();
        if (!upgrade)
          throw apiError('BAD_REQUEST', { message: 'this endpoint expects a WebSocket handshake' });
        // A failed handshake closes the socket without any callback.
        upgrade.socket.once('close', credentials.forget);
        // A client may have left during the lookup: its socket closes no second time.
        if (upgrade.socket.destroyed) return credentials.forget();
        server.handleUpgrade(upgrade.request, upgrade.socket, upgrade.head, (ws) => {
          ws.on('error', () => ws.terminate());
          const sink = createSocketSink(ws, deps.pongWithinMs ?? PONG_WITHIN_MS);
          const reader = { resolved, sink, credentials, connection: ws, isClosed: false };
          serveReader(deps.feed, reader).catch(() => ws.close(CLOSE_TRY_AGAIN));
        });
      } catch (err) {
        credentials.forget();
        throw err;
      }
    },
    close: () => void server.close(),
  };
}

function createSocketSink(ws: WebSocket, pongWithinMs: number): EventSink {
  /** When the unanswered ping was sent, monotonic; null: none. */
  let pingedAtMs: number | null = null;
  ws.on('pong', () => {
    pingedAtMs = null;
  });
  const send = (frame: string | Buffer, callback?: () => void) => {
    if (ws.readyState === ws.OPEN) ws.send(frame, { binary: false }, callback);
    else callback?.();
  };
  return {
    write(batch) {
      for (const frame of frames(batch)) send(frame);
      return ws.bufferedAmount;
    },
    // Sends an empty ping behind the data: its callback runs when everything before it was written.
    drained: () =>
      new Promise((resolve) => {
        if (ws.bufferedAmount === 0 || ws.readyState !== ws.OPEN) return resolve();
        ws.once('close', resolve);
        ws.ping(undefined, undefined, () => {
          ws.off('close', resolve);
          resolve();
        });
      }),
    reset: (cursor) =>
      send(JSON.stringify({ reset: { reason: 'cursor_expired', cursor: encodeCursor(cursor) } })),
    heartbeat(cursor) {
      const now = performance.now();
      if (pingedAtMs !== null && now - pingedAtMs >= pongWithinMs) {
        // If this process itself was paused, the pong may have arrived unread; it is read before this
        // callback runs.
        setImmediate(() => pingedAtMs !== null && now - pingedAtMs >= pongWithinMs && ws.terminate());
        return;
      }
      if (ws.bufferedAmount > 0) return;
      if (pingedAtMs === null) {
        pingedAtMs = now;
        ws.ping();
      }
      send(JSON.stringify({ heartbeat: { cursor: encodeCursor(cursor) } }));
    },
    end(reason, cursor) {
      ws.close(CLOSE_CODES[reason], encodeCursor(cursor));
      setTimeout(() => ws.terminate(), LINGER_MS).unref();
    },
  };
}

function frames(batch: EventBatch): Buffer[] {
  let made = batch.memo.get('ws') as Buffer[] | undefined;
  if (!made) {
    // Appends a member to the event's JSON without parsing it.
    made = batch.events.map((event) =>
      Buffer.from(`${event.body.slice(0, -1)},"cursor":"${encodeCursor(event.cursor)}"}`),
    );
    batch.memo.set('ws', made);
  }
  return made;
}
