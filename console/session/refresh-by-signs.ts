import type { QueryClient } from '@tanstack/react-query';
import type { LiveEvents, Sign } from './live-events.ts';

/** Between two readings of what a page shows: a company has 60 requests a minute without a plan. */
const AT_MOST_EVERY_MS = 3_000;

/** Reads anew what an event may have changed: at once, and then at most every few seconds. */
export function refreshBySigns(queries: QueryClient, live: LiveEvents): () => void {
  const due = new Set<string>();
  let waiting: ReturnType<typeof setTimeout> | undefined;

  function flush(): void {
    waiting = due.size === 0 ? undefined : setTimeout(flush, AT_MOST_EVERY_MS);
    for (const key of due) void queries.invalidateQueries({ queryKey: [key] });
    due.clear();
  }

  const forget = live.onSign((sign) => {
    for (const key of roomsOf(sign)) due.add(key);
    if (waiting === undefined) flush();
  });
  return () => {
    forget();
    clearTimeout(waiting);
  };
}

/** The first part of the keys of queries, which is named like the room of the contract. */
function roomsOf({ type }: Sign): string[] {
  if (type.startsWith('instance.')) return ['instances'];
  if (type.startsWith('webhook.')) return ['webhooks'];
  return ['messages', 'chats', 'deliveries'];
}
