import type { QueryClient } from '@tanstack/react-query';
import type { Connection } from './connection.ts';
import type { LiveEvents, Sign } from './live-events.ts';

/** Minimum time between two reads of a page's data: without a plan, a company has 60 requests a minute. */
const AT_MOST_EVERY_MS = 3_000;

/**
 * Reads again the data that an event may have changed: at once, and then at most every few seconds. While the service
 * takes no requests, it only notes what to read. Once the stream opens, it reads again the data that a page may have
 * read before; when the stream reopens after a loss, all data that is shown.
 */
export function refreshBySigns(deps: {
  queries: QueryClient;
  live: LiveEvents;
  connection: Connection;
}): () => void {
  const { queries, live, connection } = deps;
  const due = new Set<string>();
  let waiting: ReturnType<typeof setTimeout> | undefined;
  let later: ReturnType<typeof setTimeout> | undefined;

  function flush(): void {
    waiting = due.size === 0 ? undefined : setTimeout(flush, AT_MOST_EVERY_MS);
    if (connection.trouble() === 'limited') return;
    for (const key of due) void queries.invalidateQueries({ queryKey: [key] });
    due.clear();
  }

  function note(keys: readonly string[]): void {
    for (const key of keys) due.add(key);
    if (waiting === undefined) flush();
  }

  const forget = live.onSign((sign) => note(roomsOf(sign)));
  let wasOpen = live.isOpen();
  let wasLost = false;
  const leave = live.onChange(() => {
    const isOpen = live.isOpen();
    wasLost ||= wasOpen && !isOpen;
    wasOpen = isOpen;
    if (!isOpen) return;
    if (wasLost) void queries.invalidateQueries({ predicate: ({ queryKey }) => queryKey[0] !== 'session' });
    // Data being read at this moment may be from before the stream opened.
    else later ??= setTimeout(() => note(CHANGING), AT_MOST_EVERY_MS);
    wasLost = false;
  });
  return () => {
    forget();
    leave();
    clearTimeout(waiting);
    clearTimeout(later);
  };
}

/**
 * The queries that an event changes, by the beginning of its type. A query's key begins with the name of its part of
 * the contract.
 */
const CHANGED_BY: Readonly<Record<string, readonly string[]>> = {
  'instance.': ['instances'],
  'webhook.': ['webhooks'],
  'message_template.': ['templates'],
};
const CHANGED_BY_OTHERS = ['messages', 'chats', 'deliveries'];
const CHANGING = [...Object.values(CHANGED_BY).flat(), ...CHANGED_BY_OTHERS];

function roomsOf({ type }: Sign): readonly string[] {
  const known = Object.entries(CHANGED_BY).find(([beginning]) => type.startsWith(beginning));
  return known?.[1] ?? CHANGED_BY_OTHERS;
}
