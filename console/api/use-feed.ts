import { type QueryClient, replaceEqualDeep, useQuery, useQueryClient } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import { askAgainAfterMs, isPassing } from '../session/connection.ts';
import { useAuth } from './api-context.ts';

/**
 * The number of last rows searched for duplicates, which occur when pages are counted from the head of a growing list.
 */
const OVERLAP_MAX = 1_000;

interface FeedPage<Row, Cursor> {
  rows: readonly Row[];
  /** The start of the next page; undefined at the end. */
  next: Cursor | undefined;
}

/**
 * A list that grows at its head while the user reads it: only the first page is read again, and later rows stay. A row
 * that is in both appears once, as in the first page. When more new rows than one page have arrived, the list starts
 * again.
 */
export function useFeed<Row, Cursor>(options: {
  queryKey: readonly unknown[];
  read: (cursor: Cursor | undefined, signal?: AbortSignal) => Promise<FeedPage<Row, Cursor>>;
  idOf: (row: Row) => string | number;
  enabled?: boolean;
  refetchInterval?: number | false;
}) {
  const { queryKey, read, idOf, enabled = true } = options;
  const queries = useQueryClient();
  const { noteError } = useAuth();
  const [isFetchingNextPage, setFetching] = useState(false);
  const [moreError, setMoreError] = useState<unknown>(null);
  const head = useQuery<FeedPage<Row, Cursor>>({
    queryKey,
    enabled,
    queryFn: async ({ signal }) => {
      const page = await read(undefined, signal);
      return joined(page, queries.getQueryData<FeedPage<Row, Cursor>>(queryKey), idOf);
    },
    refetchInterval: options.refetchInterval ?? false,
    // The code below keeps unchanged rows the same objects: comparing all loaded rows takes long when there are many.
    structuralSharing: false,
  });

  async function fetchNextPage(): Promise<void> {
    const known = head.data;
    if (known?.next === undefined || isFetchingNextPage) return;
    setFetching(true);
    setMoreError(null);
    try {
      const page = await read(known.next);
      queries.setQueryData<FeedPage<Row, Cursor>>(queryKey, (now) => {
        // It belongs to another list if that was removed or started again meanwhile.
        if (!now || !endsLike(now, known, idOf)) return now;
        // Rows that moved down meanwhile are among the last ones; searching all of them would take long.
        const ids = new Set(now.rows.slice(-OVERLAP_MAX).map(idOf));
        return { rows: now.rows.concat(page.rows.filter((row) => !ids.has(idOf(row)))), next: page.next };
      });
    } catch (error) {
      noteError(error);
      setMoreError(error);
    } finally {
      setFetching(false);
    }
  }

  useEffect(() => {
    if (!isPassing(moreError)) return;
    const timer = setTimeout(() => setMoreError(null), askAgainAfterMs(moreError));
    return () => clearTimeout(timer);
  }, [moreError]);

  return {
    data: head.data?.rows,
    error: head.error ?? moreError,
    isPending: head.isPending,
    refetch() {
      setMoreError(null);
      return head.refetch();
    },
    // A page that failed is requested again when its error is gone, not at once.
    hasNextPage: head.data?.next !== undefined && moreError === null,
    isFetchingNextPage,
    fetchNextPage,
  };
}

/**
 * Puts what an action has changed of a row into a list of `useFeed`; null takes the row out. Reading the first page again
 * does not show it in later ones.
 */
export function changeRow<Row>(
  queries: QueryClient,
  list: { queryKey: readonly unknown[]; isIt: (row: Row) => boolean },
  change: Partial<Row> | null,
): void {
  queries.setQueryData<FeedPage<Row, unknown>>(
    list.queryKey,
    (now) =>
      now && {
        ...now,
        rows: now.rows.flatMap((row) => (list.isIt(row) ? (change ? [{ ...row, ...change }] : []) : [row])),
      },
  );
}

/** Whether the next page of one list is that of the other: a cursor may be only the number of a page. */
function endsLike<Row, Cursor>(
  one: FeedPage<Row, Cursor>,
  other: FeedPage<Row, Cursor>,
  idOf: (row: Row) => string | number,
): boolean {
  const lastOf = ({ rows }: FeedPage<Row, Cursor>) => rows.slice(-1).map(idOf)[0];
  return one.next === other.next && lastOf(one) === lastOf(other);
}

function joined<Row, Cursor>(
  page: FeedPage<Row, Cursor>,
  known: FeedPage<Row, Cursor> | undefined,
  idOf: (row: Row) => string | number,
): FeedPage<Row, Cursor> {
  if (!known) return page;
  const before = new Map(known.rows.slice(0, 2 * page.rows.length).map((row) => [idOf(row), row]));
  const rows = page.rows.map((row) => replaceEqualDeep(before.get(idOf(row)), row));
  if (known.rows.length <= page.rows.length || page.next === undefined) return { rows, next: page.next };
  const ids = new Set(rows.map(idOf));
  const rest = known.rows.filter((row) => !ids.has(idOf(row)));
  return rest.length === known.rows.length
    ? { rows, next: page.next }
    : { rows: [...rows, ...rest], next: known.next };
}
