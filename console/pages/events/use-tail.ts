import type { Client, ListedEvent } from '@posthorn/sdk/index.ts';
import { useCallback, useEffect, useRef, useState } from 'react';
import { useAuth } from '../../api/api-context.ts';
import { askAgainAfterMs, isPassing } from '../../session/connection.ts';

export interface TailFilter {
  instanceId: string | undefined;
  /** Names or patterns, separated by commas. */
  types: string | undefined;
}

/** Older events are dropped, so that the list stays bounded however long it runs. */
const KEPT_MAX = 500;
const FIRST = 50;
/** The page is redrawn at most this often, however many events arrive. */
const DRAWN_EVERY_MS = 300;

/**
 * The events of the company as they happen, newest first. A pause closes the stream; afterwards it continues after the
 * last event seen, so that none is missed.
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
        // The browser lets a hidden tab draw only once a minute.
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

/**
 * Passes on the newest events and all later ones; with a cursor, all events after it. It opens the stream before it
 * reads the newest ones, so that none is missed in between, and drops duplicates.
 */
async function follow(input: {
  client: Client;
  filter: TailFilter;
  cursor: { current: string | null };
  signal: AbortSignal;
  onEvent: (event: ListedEvent) => void;
}): Promise<void> {
  const { client, filter, cursor, signal, onEvent } = input;
  const types = filter.types?.split(/[\s,]+/).filter(Boolean) as ['*'] | undefined;
  const opened = Promise.withResolvers<void>();
  const stream = client.events.stream({
    signal,
    instanceId: filter.instanceId,
    types,
    lastEventId: cursor.current ?? undefined,
    onOpen: opened.resolve,
  });
  const listed = new Set<string>();
  const begun = cursor.current === null ? opened.promise.then(readLast) : Promise.resolve();
  await Promise.all([begun, readOn()]);

  async function readLast(): Promise<void> {
    const query = { instance_id: filter.instanceId, types, limit: FIRST };
    const { data } = await client.events.list({ query }, { signal });
    cursor.current = data[0]?.cursor ?? null;
    for (const event of data.reverse()) {
      listed.add(event.event_id);
      onEvent(event);
    }
  }
  async function readOn(): Promise<void> {
    for await (const event of stream) {
      await begun;
      if (listed.has(event.event_id)) continue;
      cursor.current = event.cursor;
      onEvent(event as unknown as ListedEvent);
    }
  }
}
