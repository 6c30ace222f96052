/** Rows to pass over before a page; pages count from 1. Only for lists whose size a plan or a filter bounds. */
export function offsetOf(query: { page: number; limit: number }): number {
  return (query.page - 1) * query.limit;
}

/**
 * A keyset page from rows that were read with `limit + 1`: the rows of the page, and the last of them when more follow.
 * The caller derives the next cursor from `last`; null means that this was the end.
 */
export function cutPage<Row>(rows: readonly Row[], limit: number): { page: Row[]; last: Row | null } {
  const page = rows.slice(0, limit);
  return { page, last: rows.length > limit ? (page.at(-1) ?? null) : null };
}
