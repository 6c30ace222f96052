import type { Cursor } from './cursor.ts';
import type { LoggedEvent } from './read-events.ts';

/**
 * Events that go to many readers at once. A sink keeps what it rendered from the batch in `memo`, under
 * its own name, so that a thousand SSE readers cost one rendering.
 */
export interface EventBatch {
  readonly events: readonly LoggedEvent[];
  readonly memo: Map<string, unknown>;
}

/** Why a stream ended. The reader may come back with its cursor and misses nothing. */
export type StreamEnd = 'slow_reader' | 'credentials_changed' | 'credentials_expired' | 'shutdown';

/** One connected reader, whatever the wire: SSE or WebSocket. */
export interface EventSink {
  /** Hands the batch to the connection and returns the bytes that the reader has not taken yet. */
  write(batch: EventBatch): number;
  /** Resolves once the reader has taken everything, or the connection is closed. */
  drained(): Promise<void>;
  /** Tells that events between the reader's cursor and `cursor` may be lost to it. */
  reset(cursor: Cursor): void;
  /** Keeps the connection alive and tells how far the log was read; not called while bytes wait. */
  heartbeat(cursor: Cursor): void;
  end(reason: StreamEnd, cursor: Cursor): void;
}
