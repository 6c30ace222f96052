import type { QueryClient } from '@tanstack/react-query';
import type { Connection } from './connection.ts';
import type { LiveEvents, Sign } from './live-events.ts';

/** Between two readings of what a page shows: a company has 60 requests a minute without a plan. */
const AT_MOST_EVERY_MS = 3_000;

/**
 * Reads anew what an event may have changed: at once, and then at most every few seconds. While the service takes no
 * requests it only notes what to read. When the stream stands again, all that is shown is read.
 */
export function refreshBySigns(deps: {
  queries: QueryClient;
  live: LiveEvents;
  connection: Connection;
}): () => void {
  const { queries, live, connection } = deps;
  const due = new Set<string>();
  let waiting: ReturnType<typeof setTimeout> | undefined;

  function flush(): void {
    waiting = due.size === 0 ? undefined : setTimeout(flush, AT_MOST_EVERY_MS);
    if (connection.trouble() === 'limited') return;
    for (const key of due) void queries.invalidateQueries({ queryKey: [key] });
    due.clear();
  }

  const forget = live.onSign((sign) => {
    for (const key of roomsOf(sign)) due.add(key);
    if (waiting === undefined) flush();
  });
  let wasOpen = live.isOpen();
  let wasLost = false;
  const leave = live.onChange(() => {
    const isOpen = live.isOpen();
    wasLost ||= wasOpen && !isOpen;
    wasOpen = isOpen;
    if (!isOpen || !wasLost) return;
    wasLost = false;
    void queries.invalidateQueries({ predicate: ({ queryKey }) => queryKey[0] !== 'session' });
  });
  return () => {
    forget();
    leave();
    clearTimeout(waiting);
  };
}

/** The first part of the keys of queries, which is named like the room of the contract. */
function roomsOf({ type }: Sign): string[] {
  if (type.startsWith('instance.')) return ['instances'];
  if (type.startsWith('webhook.')) return ['webhooks'];
  if (type.startsWith('message_template.')) return ['templates'];
  return ['messages', 'chats', 'deliveries'];
}
