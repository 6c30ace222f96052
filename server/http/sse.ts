import type { IncomingMessage, ServerResponse } from 'node:http';
import { type Cursor, encodeCursor } from '@posthorn/core/events/cursor.ts';
import type { EventBatch, EventSink, StreamEnd } from '@posthorn/core/events/event-sink.ts';
import { Connection, createEventBuffer, createSession, type EventBuffer, type Session } from 'better-sse';
import type { AnswerHeaders, HandlerInput } from './call.ts';
import { type LiveQuery, type LiveStreamDeps, resolveLiveQuery, serveReader } from './event-stream.ts';
import type { LiveConnections } from './live-connections.ts';

/** How long a reader may take to receive the rest after the stream has ended. */
const LINGER_MS = 5_000;
/** Asks clients to reconnect this soon after a cut. */
const RETRY_MS = 1_000;

/**
 * `GET /v1/events/stream`. Frames: `id` the cursor, `event` the type, `data` the event. Also `reset` (the
 * cursor has expired or belongs to another log: the events in between are lost), `end` (the stream is closed,
 * reconnect with the cursor) and, every 15 s, a comment with the current `id`.
 * Throws ApiError before anything is written; afterwards the answer belongs to the stream.
 */
export async function openEventStream(
  deps: LiveStreamDeps & { connections: LiveConnections },
  input: Pick<HandlerInput, 'principal' | 'startedAt' | 'headers' | 'takeResponse'> & { query: LiveQuery },
): Promise<void> {
  const { principal } = input;
  const credentials = deps.connections.watch(principal, input.startedAt);
  const lastEventId = input.headers['last-event-id'];
  const resolved = await resolveLiveQuery(deps, {
    principal,
    query: input.query,
    lastEventId: Array.isArray(lastEventId) ? lastEventId[0] : lastEventId,
  }).catch((err) => {
    credentials.forget();
    throw err;
  });
  const { request, response, headers } = input.takeResponse();
  const connection = new StreamConnection(request, response, headers);
  const session = await createSession(connection, { keepAlive: null, retry: RETRY_MS });
  const sink = createSseSink(session, response);
  const isClosed = response.destroyed;
  if (isClosed) credentials.forget();
  // The headers are sent: cutting the connection makes the client reconnect with its cursor.
  await serveReader(deps.feed, { resolved, sink, credentials, connection: response, isClosed }).catch(() =>
    response.destroy(),
  );
}

/**
 * better-sse's own connection creates a Request, a Response and two header copies for each reader, and hides
 * the result of `write`. This one has only the parts a session uses.
 */
class StreamConnection extends Connection {
  readonly url: URL;
  readonly request: Request;
  readonly response: Response;
  readonly #res: ServerResponse;
  readonly #headers: AnswerHeaders;
  readonly #gone = new AbortController();

  constructor(req: IncomingMessage, res: ServerResponse, headers: AnswerHeaders) {
    super();
    this.#res = res;
    this.#headers = headers;
    req.socket.setNoDelay(true);
    this.url = STREAM_URL;
    // A session reads only the signal and the header last-event-id of its request.
    this.request = { headers: NO_HEADERS, signal: this.#gone.signal } as Request;
    this.response = NO_RESPONSE;
    res.once('close', () => this.#gone.abort());
  }

  sendHead = (): void => {
    this.#res.writeHead(200, { ...this.#headers, ...Connection.constants.RESPONSE_HEADERS });
  };

  sendChunk = (chunk: string): void => {
    if (!this.#res.writableEnded) this.#res.write(chunk);
  };

  cleanup = (): void => undefined;
}

const STREAM_URL = new URL('http://localhost/v1/events/stream');
const NO_HEADERS = new Headers();
const NO_RESPONSE = new Response(null);

function createSseSink(session: Session, res: ServerResponse): EventSink {
  let ended = false;
  const send = (buffer: EventBuffer) => void session.batch(buffer);
  return {
    write(batch) {
      send(rendered(batch));
      return res.writableLength;
    },
    drained: () =>
      new Promise((resolve) => {
        if (!res.writableNeedDrain || res.destroyed) return resolve();
        const done = () => {
          res.off('drain', done);
          res.off('close', done);
          resolve();
        };
        res.once('drain', done);
        res.once('close', done);
      }),
    reset: (cursor) => send(control('reset', { reason: 'cursor_expired' }, cursor)),
    heartbeat(cursor) {
      if (res.writableLength === 0) send(plainBuffer().comment().id(encodeCursor(cursor)).dispatch());
    },
    end(reason: StreamEnd, cursor) {
      if (ended) return;
      ended = true;
      send(control('end', { reason }, cursor));
      res.end();
      setTimeout(() => res.destroy(), LINGER_MS).unref();
    },
  };
}

function rendered(batch: EventBatch): EventBuffer {
  let buffer = batch.memo.get('sse') as EventBuffer | undefined;
  if (!buffer) {
    buffer = plainBuffer();
    for (const event of batch.events) buffer.push(event.body, event.type, encodeCursor(event.cursor));
    batch.memo.set('sse', buffer);
  }
  return buffer;
}

function control(name: string, data: Record<string, unknown>, cursor: Cursor): EventBuffer {
  const id = encodeCursor(cursor);
  return plainBuffer().push(JSON.stringify({ ...data, cursor: id }), name, id);
}

/** All input is JSON on one line already: the bodies come from jsonb, the rest from JSON.stringify. */
function plainBuffer(): EventBuffer {
  return createEventBuffer({ serializer: String, sanitizer: (text) => text });
}
