import type { CallOptions } from './call-options.ts';
import { PosthornError } from './error.ts';

/** An answer that holds a list, whichever way leads to its next page. */
type ListAnswer = { data: readonly unknown[] } | { logs: readonly unknown[] } | { notes: readonly unknown[] };
type ItemOf<A> = A extends { data: readonly (infer T)[] }
  ? T
  : A extends { logs: readonly (infer T)[] }
    ? T
    : A extends { notes: readonly (infer T)[] }
      ? T
      : never;

interface AnyAnswer {
  data?: readonly unknown[];
  logs?: readonly unknown[];
  notes?: readonly unknown[];
  page?: number;
  limit?: number;
  total?: number;
  total_capped?: true;
  next_cursor?: string | null;
  next_before?: number | null;
}

interface AnyInput {
  query?: Record<string, unknown>;
}

/**
 * Yields every item of a list and reads each page when it is needed, whether the list has page numbers, a cursor or
 * `before`. It begins where `input.query` says. Items may be added and removed meanwhile, also by the caller. Throws
 * BAD_RESPONSE when an answer leads to a page that was asked for before.
 *
 * @example
 * for await (const message of iterate(client.messages.list, { instanceId })) console.log(message.content);
 */
export async function* iterate<I, A extends ListAnswer>(
  list: (input: I, options?: CallOptions) => Promise<A>,
  ...[input, options]: undefined extends I
    ? [input?: I, options?: CallOptions]
    : [input: I, options?: CallOptions]
): AsyncGenerator<ItemOf<A>, void, undefined> {
  const given = (input ?? {}) as AnyInput;
  let query = given.query ?? {};
  const firstPage = Number(query.page ?? 1);
  let seen = new Set<unknown>();
  let total = 0;
  let hasNew = false;
  const asked = new Set<unknown>(POSITIONS.map((name) => query[name]));
  for (;;) {
    const answer = (await list({ ...given, query } as I, options)) as AnyAnswer;
    const again = hasNew ? pageOfMoved(answer, total, firstPage) : null;
    total = answer.total ?? 0;
    if (again !== null) {
      // Without a new item in between, a list could lead back for ever.
      hasNew = false;
      asked.clear();
      asked.add(again);
      query = { ...query, page: again };
      continue;
    }
    const items = answer.data ?? answer.logs ?? answer.notes ?? [];
    // Pages are counted from the top: items added meanwhile push older ones onto the next page.
    const fresh = items.filter((item) => !seen.has(idOf(item)));
    if (answer.page === undefined) seen = new Set();
    for (const item of items) if (idOf(item) !== undefined) seen.add(idOf(item));
    hasNew ||= fresh.length > 0;
    for (const item of fresh) yield item as ItemOf<A>;
    const next = continuation(answer, query, items.length);
    if (!next) return;
    const [position] = Object.values(next);
    if (asked.has(position)) throw stuckList(next);
    asked.add(position);
    query = { ...query, ...next };
  }
}

export interface ToArrayOptions extends CallOptions {
  /** The maximum number of items. Default: all. */
  max?: number | undefined;
}

/**
 * The items of a list in one array, over as many pages as they take: see {@link iterate}.
 *
 * @example
 * const chats = await toArray(client.chats.list, { instanceId }, { max: 500 });
 */
export async function toArray<I, A extends ListAnswer>(
  list: (input: I, options?: CallOptions) => Promise<A>,
  ...[input, options]: undefined extends I
    ? [input?: I, options?: ToArrayOptions]
    : [input: I, options?: ToArrayOptions]
): Promise<ItemOf<A>[]> {
  const { max = Number.POSITIVE_INFINITY, ...call } = options ?? {};
  if (!(max >= 0)) throw new TypeError('max must be a number from 0');
  const items: ItemOf<A>[] = [];
  if (max === 0) return items;
  for await (const item of iterate(list, input as I, call)) {
    items.push(item);
    if (items.length >= max) break;
  }
  return items;
}

/** The fields by which a query says where its page begins: a request has one of them at most. */
const POSITIONS = ['before', 'after', 'page'] as const;

/** The additional query field of the next page; null at the end. */
function continuation(
  answer: AnyAnswer,
  query: Record<string, unknown>,
  count: number,
): Record<string, unknown> | null {
  const { next_cursor: cursor, next_before: before, page, limit, total } = answer;
  if (cursor !== undefined) {
    // A cursor continues in the direction of the list.
    return cursor === null ? null : query.after === undefined ? { before: cursor } : { after: cursor };
  }
  if (before !== undefined) return before === null ? null : { before };
  if (page === undefined || limit === undefined || count === 0) return null;
  return answer.total_capped || page * limit < (total ?? 0) ? { page: page + 1 } : null;
}

/** The page to read again when items were removed, since those behind them moved up onto it; else null. */
function pageOfMoved(
  { page = 0, limit = 1, total = 0 }: AnyAnswer,
  totalBefore: number,
  firstPage: number,
): number | null {
  if (total >= totalBefore || page <= firstPage) return null;
  return Math.max(firstPage, page - Math.ceil((totalBefore - total) / limit));
}

function stuckList(next: Record<string, unknown>): PosthornError {
  const [name] = Object.keys(next);
  return new PosthornError({
    code: 'BAD_RESPONSE',
    status: 200,
    message: `the next page of the list has the same ${name} as one before: the list would never end`,
  });
}

function idOf(item: unknown): unknown {
  const { id, log_id, task_id, message_id, status_message_id, event_id, jid } = (item ?? {}) as Record<
    string,
    unknown
  >;
  // A task before its message, which other tasks may change.
  return id ?? log_id ?? task_id ?? message_id ?? status_message_id ?? event_id ?? jid;
}
