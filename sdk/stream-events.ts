import { type Attempted, badResponse } from './attempt.ts';
import type { EventPattern } from './contract-types.ts';
import type { PosthornError } from './error.ts';
import type { EventsMatching, StreamedEvent, WebhookEvent } from './event-types.ts';
import { readPiece } from './read-body.ts';
import { isTransient, retryDelayMs } from './retry.ts';
import { createSseParser, type SseFrame } from './sse-parser.ts';
import type { Transport } from './transport.ts';
import { sleep } from './wait.ts';

export interface StreamOptions<P extends EventPattern = EventPattern> {
  /** Only the events of one instance. */
  instanceId?: string | undefined;
  /** Names or patterns, e.g. `message.*`, `*.received`; default all. */
  types?: readonly P[] | undefined;
  /** The `cursor` of the last event seen: the stream continues after it. Without one, it begins with new events. */
  lastEventId?: string | undefined;
  /** Ends the iteration, without an error. */
  signal?: AbortSignal | undefined;
  /** A connection that is silent for so long counts as dead. Default 45 s, three heartbeats. */
  silenceMs?: number | undefined;
  /** Called when the connection opens, the first time and after each break. */
  onOpen?: () => void;
  /** Called when the connection broke; the client reconnects after `delayMs`. */
  onReconnect?: (info: { attempt: number; delayMs: number; error: PosthornError | null }) => void;
  /**
   * Called when this reader may have missed events: its cursor was older than the events in the log (`cursor_expired`),
   * or the connection broke before it gave a cursor (`no_cursor`).
   */
  onReset?: (info: { reason: string; cursor: string | null }) => void;
}

const SILENCE_MS = 45_000;
const OPEN_TIMEOUT_MS = 30_000;
/** Attempts at the very first connection. Once one has opened, the client reconnects for ever. */
const FIRST_TRIES = 3;
const RECENT_MAX = 10_000;
/** Characters of one frame. The longest event of the service has some hundred thousand. */
const FRAME_MAX = 64 * 1024 * 1024;

/**
 * Events as they happen, each once and in order, over server-sent events. A broken connection is resumed
 * after the last event; breaking out of the loop or aborting `signal` closes it.
 *
 * Throws PosthornError when the service refuses (bad key, unknown instance, bad cursor) and when it cannot
 * be reached at the start.
 */
export async function* streamEvents<P extends EventPattern = '*'>(
  deps: { transport: Transport },
  options: StreamOptions<P>,
): AsyncGenerator<StreamedEvent<EventsMatching<P>>, void, undefined> {
  const { signal } = options;
  const isNew = createRecentIds(RECENT_MAX);
  let cursor = options.lastEventId ?? null;
  let failures = 0;
  let wasOpen = false;
  let serverRetryMs = 0;

  while (!signal?.aborted) {
    let connection: Attempted | null = null;
    let fault: PosthornError | null = null;
    try {
      connection = await open(deps, options, cursor);
      if (wasOpen && cursor === null) options.onReset?.({ reason: 'no_cursor', cursor });
      wasOpen = true;
      options.onOpen?.();
      const parser = createSseParser();
      for await (const chunk of chunksOf(connection, options)) {
        for (const frame of parser.push(chunk)) {
          // The consumer aborted while it handled the previous event.
          if (signal?.aborted) return;
          failures = 0;
          // Set before the event is handed over, so that a reconnect never asks for it again.
          cursor = cursorOf(frame, connection.response) ?? cursor;
          const event = eventOf(frame, connection.response, options);
          if (event && isNew(event.event_id))
            yield { ...event, cursor: cursor ?? '' } as StreamedEvent<EventsMatching<P>>;
        }
        if (parser.pending() > FRAME_MAX)
          throw badResponse(connection.response, `has a frame of more than ${FRAME_MAX} characters`);
        serverRetryMs = parser.retryMs() ?? serverRetryMs;
      }
    } catch (error) {
      if (signal?.aborted) return;
      if (!isTransient(error) || (!wasOpen && failures + 1 >= FIRST_TRIES)) throw error;
      fault = error;
    } finally {
      connection?.leash.cut();
    }
    const delayMs = Math.max(wasOpen ? serverRetryMs : 0, retryDelayMs(failures, fault));
    failures++;
    if (signal?.aborted) return;
    options.onReconnect?.({ attempt: failures, delayMs, error: fault });
    await sleep(delayMs, signal).catch(() => undefined);
  }
}

async function open(
  deps: { transport: Transport },
  options: StreamOptions,
  cursor: string | null,
): Promise<Attempted> {
  const connection = await deps.transport.send(
    {
      method: 'GET',
      path: '/v1/events/stream',
      route: '/v1/events/stream',
      query: { instance_id: options.instanceId, types: options.types },
      headers: { 'last-event-id': cursor ?? undefined },
      answer: 'stream',
      isRepeatable: true,
    },
    // The loop above does the retries, since only it knows where to resume.
    { signal: options.signal, timeoutMs: OPEN_TIMEOUT_MS, retries: 0 },
  );
  const { response } = connection;
  if (!response.headers.get('content-type')?.startsWith('text/event-stream') || !response.body) {
    connection.leash.cut();
    throw badResponse(response, 'is not an event stream');
  }
  return connection;
}

/** The bytes as they come. Ends when the server closes, throws NETWORK or TIMEOUT when the connection dies. */
async function* chunksOf(
  { response, leash }: Attempted,
  options: StreamOptions,
): AsyncGenerator<Uint8Array, void, undefined> {
  const silenceMs = options.silenceMs ?? SILENCE_MS;
  const reader = (response.body as ReadableStream<Uint8Array>).getReader();
  for (;;) {
    const { done, value } = await readPiece({ leash, what: 'the stream', silenceMs }, reader);
    if (done) return;
    yield value;
  }
}

/** Null for a frame without a cursor. */
function cursorOf({ id }: SseFrame, response: Response): string | null {
  // No header could carry it back to the service.
  if (id && !/^[\x21-\x7e]+$/.test(id))
    throw badResponse(response, 'has a cursor that is not printable ASCII');
  return id || null;
}

/** Null for frames that carry no event: heartbeats, `end`, and `reset`, which it reports. */
function eventOf(frame: SseFrame, response: Response, options: StreamOptions): WebhookEvent | null {
  if (frame.data === null) return null;
  let data: unknown;
  try {
    data = JSON.parse(frame.data);
  } catch {
    throw badResponse(response, 'has an event that is not JSON');
  }
  const fields: Partial<Record<string, unknown>> = isObject(data) ? data : {};
  if (frame.event === 'reset') {
    const reason = typeof fields.reason === 'string' ? fields.reason : 'reset';
    options.onReset?.({ reason, cursor: frame.id });
    return null;
  }
  const isEvent =
    typeof fields.event_id === 'string' && typeof fields.type === 'string' && isObject(fields.data);
  return isEvent ? (fields as unknown as WebhookEvent) : null;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null;
}

/** True for an id it has not seen among the last `max`. */
function createRecentIds(max: number): (id: string) => boolean {
  const seen = new Set<string>();
  return (id) => {
    if (seen.has(id)) return false;
    seen.add(id);
    if (seen.size > max) seen.delete(seen.values().next().value as string);
    return true;
  };
}
