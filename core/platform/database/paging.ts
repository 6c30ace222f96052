import { LIST_PAGE_MAX_BYTES } from '@posthorn/contract/limits.ts';

/** Rows to pass over before a page; pages count from 1. Only for lists whose size a plan or a filter bounds. */
export function offsetOf(query: { page: number; limit: number }): number {
  return (query.page - 1) * query.limit;
}

/**
 * A keyset page from rows that were read with `limit + 1`: the rows of the page, and the last of them when more follow.
 * The caller derives the next cursor from `last`; null means that this was the end. `listed` counts those that
 * {@link shortened} left out as well.
 */
export function cutPage<Row>(
  rows: readonly Row[],
  limit: number,
  listed = rows.length,
): { page: Row[]; last: Row | null } {
  const page = rows.slice(0, limit);
  return { page, last: listed > page.length ? (page.at(-1) ?? null) : null };
}

/**
 * SQL condition for the rows of one owner from a position of their ids, to be read by an index `(column, id)`: order by `column, id`
 * as well. It says `column = owner` as a range on purpose. With an equality the order is that of the ids alone, and PostgreSQL may walk the primary key
 * instead: of an owner who has been quiet for long it then passes over all that others have written since.
 */
export function ownedSql(column: string, owner: string, position?: { is: '<' | '>'; than: string }): string {
  if (!position) return `${column} BETWEEN ${owner} AND ${owner}`;
  const { is, than } = position;
  return `(${column}, id) ${is} (${owner}, ${than}) AND ${column} ${is === '<' ? '>=' : '<='} ${owner}`;
}

/**
 * Whether a row of a page in its order fits into LIST_PAGE_MAX_BYTES together with those before it; the first one does at any
 * rate, so that a list goes on (LIM-10). `bytes` is to be cheap: the length of a text is known without reading it, that of a
 * jsonb is not.
 */
export function fitsSql(bytes: string, order: string): string {
  return `(sum(${bytes}) OVER (ORDER BY ${order} ROWS UNBOUNDED PRECEDING) <= ${LIST_PAGE_MAX_BYTES}
    OR row_number() OVER (ORDER BY ${order}) = 1)`;
}

/** The rows of `query` as far as they fit, and in each of them how many the query has (`listed`): for {@link cutPage}. */
export function shortened(query: string, bytes: string, order: string): string {
  return `(SELECT * FROM (
    SELECT page.*, ${fitsSql(bytes, order)} AS fits, (count(*) OVER ())::integer AS listed FROM (${query}) AS page
  ) AS sized WHERE fits)`;
}

/**
 * SQL for a recursive query `fitting (nth, id)`: the ids of a list (`ids`, an array in its order) whose rows have at most `maxBytes`
 * together in a column of jsonb, the first one at any rate. It stops where the page is full: what follows is not even decompressed,
 * which the length of a jsonb takes.
 */
export function fittingSql(from: { table: string; column: string; ids: string; maxBytes: string }): string {
  const bytes = `coalesce(octet_length(r.${from.column}::text), 0)`;
  return `fitting (nth, id, bytes) AS (
  SELECT 1, (${from.ids})[1], coalesce((SELECT ${bytes} FROM ${from.table} r WHERE r.id = (${from.ids})[1]), 0)::bigint
  UNION ALL
  SELECT f.nth + 1, (${from.ids})[f.nth + 1], f.bytes + ${bytes}
  FROM fitting f LEFT JOIN ${from.table} r ON r.id = (${from.ids})[f.nth + 1]
  WHERE f.nth < cardinality(${from.ids}) AND f.bytes + ${bytes} <= ${from.maxBytes}
)`;
}
