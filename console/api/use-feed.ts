import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';

interface FeedPage<Row, Cursor> {
  rows: readonly Row[];
  /** Where the next page begins; undefined at the end. */
  next: Cursor | undefined;
}

/**
 * A list that grows at its head while one reads it: its first page is what is read again, and what was loaded further
 * down stays. Rows that are in both count once, as the first page has them. When the first page has moved on by more
 * than its length, the list begins anew.
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
  });

  async function fetchNextPage(): Promise<void> {
    const known = head.data;
    if (known?.next === undefined || isFetchingNextPage) return;
    setFetching(true);
    setMoreError(null);
    try {
      const page = await read(known.next);
      queries.setQueryData<FeedPage<Row, Cursor>>(queryKey, (now = known) => {
        const ids = new Set(now.rows.map(idOf));
        return { rows: [...now.rows, ...page.rows.filter((row) => !ids.has(idOf(row)))], next: page.next };
      });
    } catch (error) {
      setMoreError(error);
    } finally {
      setFetching(false);
    }
  }

  return {
    data: head.data?.rows,
    error: head.error ?? moreError,
    isPending: head.isPending,
    refetch: head.refetch,
    hasNextPage: head.data?.next !== undefined,
    isFetchingNextPage,
    fetchNextPage,
  };
}

function joined<Row, Cursor>(
  page: FeedPage<Row, Cursor>,
  known: FeedPage<Row, Cursor> | undefined,
  idOf: (row: Row) => string | number,
): FeedPage<Row, Cursor> {
  if (!known || known.rows.length <= page.rows.length || page.next === undefined) return page;
  const ids = new Set(page.rows.map(idOf));
  const rest = known.rows.filter((row) => !ids.has(idOf(row)));
  return rest.length === known.rows.length ? page : { rows: [...page.rows, ...rest], next: known.next };
}
