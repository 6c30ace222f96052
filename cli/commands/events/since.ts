import type { Client, ListedEvent } from '@posthorn/sdk/index.ts';
import { UsageError } from '../../fault.ts';

const UNITS_MS: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };
const PAGE = 200;

/** `10m`, `2h`, or a time like 2026-01-31T12:00:00Z. */
export function parseSince(given: string, nowMs = Date.now()): number {
  const ago = /^(\d{1,6})([smhd])$/.exec(given);
  if (ago) return nowMs - Number(ago[1]) * (UNITS_MS[ago[2] as string] as number);
  // Date.parse takes `10` for October 2001.
  const atMs = /^\d{4}-\d\d-\d\d/.test(given) ? Date.parse(given) : Number.NaN;
  if (Number.isNaN(atMs)) throw new UsageError(`${given}: give a time, or an age like 10m, 2h, 1d`);
  return atMs;
}

/**
 * The place in the log at a time: the events at and after it that no cursor precedes (`first`), and the cursor to
 * continue from. Pages back, newest first, and keeps one page at most; null when there were no events at all.
 */
export async function placeOf(
  client: Client,
  sinceMs: number,
  filter: { instance_id?: string; types?: string[] },
): Promise<{ first: ListedEvent | null; cursor: string } | null> {
  // Read before the filtered list. If that list is empty, every event that will pass the filter comes after this one.
  const [newest] = (await client.events.list({ query: { limit: 1 } })).data;
  let oldest: ListedEvent | null = null;
  let before: string | undefined;
  for (;;) {
    const page = await client.events.list({ query: { ...filter, before, limit: PAGE } });
    for (const event of page.data) {
      if (Date.parse(event.created_at) < sinceMs) return { first: null, cursor: event.cursor };
      oldest = event;
    }
    // The log begins after that time: its first event has nothing before it to start from.
    if (page.next_cursor === null) {
      const from = oldest ?? newest;
      return from ? { first: oldest, cursor: from.cursor } : null;
    }
    before = page.next_cursor;
  }
}
