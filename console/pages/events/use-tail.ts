import type { Client, ListedEvent } from '@posthorn/sdk/index.ts';
import { useCallback, useEffect, useRef, useState } from 'react';
import { useAuth } from '../../api/api-context.ts';
import { askAgainAfterMs, isPassing } from '../../session/connection.ts';

export interface TailFilter {
  instanceId: string | undefined;
  /** Names or patterns, separated by commas. */
  types: string | undefined;
}

/** Older ones make room: what one looks at is bounded however long it runs. */
const KEPT_MAX = 500;
const FIRST = 50;
/** However many come at once, the page is drawn this often. */
const DRAWN_EVERY_MS = 300;

/**
 * The events of the company as they happen, newest first. A pause closes the stream, and going on takes up after the
 * last event that was seen, so that nothing is missed.
 */
export function useTail({ instanceId, types }: TailFilter) {
  const { client, noteError } = useAuth();
  const [events, setEvents] = useState<readonly ListedEvent[]>([]);
  const [isPaused, setPaused] = useState(false);
  const [error, setError] = useState<unknown>(null);
  const [round, setRound] = useState(0);
  const cursor = useRef<string | null>(null);
  const retry = useCallback(() => {
    setError(null);
    setRound((last) => last + 1);
  }, []);

  // biome-ignore lint/correctness/useExhaustiveDependencies: another filter begins anew
  useEffect(() => {
    cursor.current = null;
    setEvents([]);
  }, [instanceId, types]);

  // biome-ignore lint/correctness/useExhaustiveDependencies: another round begins anew
  useEffect(() => {
    if (isPaused) return;
    const stopping = new AbortController();
    const waiting: ListedEvent[] = [];
    const draw = () => {
      if (waiting.length === 0) return;
      const fresh = waiting.splice(0).reverse();
      setEvents((shown) => [...fresh, ...shown].slice(0, KEPT_MAX));
    };
    let again: ReturnType<typeof setTimeout> | undefined;
    const timer = setInterval(draw, DRAWN_EVERY_MS);
    const filter = { instanceId, types };
    follow({
      client,
      filter,
      cursor,
      signal: stopping.signal,
      onEvent(event) {
        waiting.push(event);
        // A tab that nobody sees draws once a minute.
        if (waiting.length > 2 * KEPT_MAX) waiting.splice(0, KEPT_MAX);
      },
    }).catch((fault: unknown) => {
      if (stopping.signal.aborted) return;
      setError(fault);
      noteError(fault);
      if (isPassing(fault)) again = setTimeout(retry, askAgainAfterMs(fault));
    });
    return () => {
      stopping.abort();
      clearInterval(timer);
      clearTimeout(again);
      draw();
    };
  }, [client, noteError, instanceId, types, isPaused, round]);

  return { events, isPaused, setPaused, error, retry };
}

/** The last events that are there, unless one goes on from a cursor, and then all that follow. */
async function follow(input: {
  client: Client;
  filter: TailFilter;
  cursor: { current: string | null };
  signal: AbortSignal;
  onEvent: (event: ListedEvent) => void;
}): Promise<void> {
  const { client, filter, cursor, signal, onEvent } = input;
  const types = filter.types?.split(/[\s,]+/).filter(Boolean) as ['*'] | undefined;
  if (cursor.current === null) {
    const query = { instance_id: filter.instanceId, types, limit: FIRST };
    const { data } = await client.events.list({ query }, { signal });
    cursor.current = data[0]?.cursor ?? null;
    for (const event of data.reverse()) onEvent(event);
  }
  const stream = client.events.stream({
    signal,
    instanceId: filter.instanceId,
    types,
    lastEventId: cursor.current ?? undefined,
  });
  for await (const event of stream) {
    cursor.current = event.cursor;
    onEvent(event as unknown as ListedEvent);
  }
}
