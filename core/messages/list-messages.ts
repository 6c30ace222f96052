import { apiError } from '@posthorn/contract/api-error.ts';
import { parseChat } from '@posthorn/contract/jid.ts';
import { LIST_PAGE_MAX_BYTES } from '@posthorn/contract/limits.ts';
import type { Message } from '@posthorn/contract/messaging/message.ts';
import { requireInstance } from '../access/instance-scope.ts';
import type { Principal } from '../access/principal.ts';
import { readAddressesOf } from '../lids/read-phones.ts';
import type { Db, Sql } from '../platform/database/db.ts';
import { oneRow } from '../platform/database/one-row.ts';
import { fittingSql, ownedSql } from '../platform/database/paging.ts';
import { type MessageRow, viewMessages } from './find-message.ts';

export interface MessageFilter {
  chat_jid?: string | undefined;
  direction?: string | undefined;
  status?: string | undefined;
  type?: string | undefined;
  before?: string | undefined;
  after?: string | undefined;
  limit: number;
}

/** Rows that one look goes through, and looks of one request: a rare filter costs no more than this. */
const SCAN_ROWS = 2_000;
const SCANS_MAX = 5;

/**
 * The messages of an instance by keyset over their time-ordered ids: newest first, or with `after` oldest
 * first from there. A page ends at LIST_PAGE_MAX_BYTES of contents. Filters are applied to the rows that are passed over, without
 * indexes: every message sent would pay for each of those. `nextCursor` may come with fewer rows than asked for.
 * Throws 404 INSTANCE_NOT_FOUND, 400 BAD_REQUEST.
 */
export async function listMessages(
  deps: { db: Db },
  input: { principal: Principal; instanceId: string; filter: MessageFilter },
): Promise<{ data: Message[]; nextCursor: string | null }> {
  const { filter } = input;
  if (filter.before && filter.after) {
    throw apiError('BAD_REQUEST', { message: 'give after or before, not both' });
  }
  const { instanceId } = await requireInstance(deps.db, input.principal, input.instanceId);
  const chat = chatOf(filter);
  const chats = chat && (await readAddressesOf(deps.db, instanceId, chat));
  const forwards = filter.after !== undefined;
  const found: MessageRow[] = [];
  let bytesLeft = LIST_PAGE_MAX_BYTES;
  let position = filter.after ?? filter.before ?? null;
  for (let scan = 0; scan < SCANS_MAX; scan += 1) {
    const wanted = filter.limit - found.length;
    const look = await deps.db.query<Look>({
      ...(position === null ? LIST_NEWEST : forwards ? LIST_AFTER : LIST_BEFORE),
      values: [
        instanceId,
        // Without a filter every row that is passed over belongs to the answer.
        isFiltered(filter) ? SCAN_ROWS : wanted,
        chats,
        filter.direction ?? null,
        filter.status ?? null,
        filter.type ?? null,
        wanted,
        ...(position === null ? [] : [position]),
      ],
    });
    const { scanned, edge, ids } = oneRow(look.rows);
    const rows = ids ? await readMessages(deps.db, ids, bytesLeft) : [];
    found.push(...rows);
    for (const row of rows) bytesLeft -= row.content_bytes;
    // The page has no more room, and unread rows go to the next one.
    const cut = rows.length > 0 && rows.at(-1)!.id !== ids!.at(-1);
    const full = cut || bytesLeft <= 0 || found.length >= filter.limit;
    position = full ? found.at(-1)!.id : edge;
    const ended = !full && scanned < (isFiltered(filter) ? SCAN_ROWS : wanted);
    if (ended) return { data: await viewMessages(deps.db, found), nextCursor: null };
    if (full) break;
  }
  return { data: await viewMessages(deps.db, found), nextCursor: position };
}

interface Look {
  /** Rows that were passed over, and the id of the last of them. */
  scanned: number;
  edge: string | null;
  ids: string[] | null;
}

function isFiltered(filter: MessageFilter): boolean {
  return Boolean(filter.chat_jid ?? filter.direction ?? filter.status ?? filter.type);
}

/** The contract has refused what is no chat. */
function chatOf({ chat_jid: chat }: MessageFilter): string | null {
  if (chat === undefined) return null;
  const parsed = parseChat(chat);
  return 'jid' in parsed ? parsed.jid : null;
}

/** The first of these messages, in the same order, as far as the page has room for their contents; one at any rate. */
async function readMessages(
  sql: Sql,
  ids: readonly string[],
  maxBytes: number,
): Promise<(MessageRow & { content_bytes: number })[]> {
  const rows = await sql.query<MessageRow & { content_bytes: number }>({ ...READ, values: [ids, maxBytes] });
  return rows.rows;
}

const READ = {
  name: 'messages-list-read',
  text: `
WITH RECURSIVE ${fittingSql({ table: 'messages', column: 'content', ids: '$1::uuid[]', maxBytes: '$2::bigint' })}
SELECT m.*, (f.bytes - lag(f.bytes, 1, 0::bigint) OVER (ORDER BY f.nth))::integer AS content_bytes
FROM fitting f JOIN messages m ON m.id = f.id ORDER BY f.nth`,
};

/** Without a position in an `OR`: a prepared statement would then pass over everything before it, one by one. */
function listSql(order: 'ASC' | 'DESC', is?: '<' | '>'): string {
  const inOrder = `ORDER BY instance_id ${order}, id ${order}`;
  return `
WITH passed AS MATERIALIZED (
  SELECT id, row_number() OVER (${inOrder}) AS nth,
         ($3::text[] IS NULL OR chat_jid = ANY ($3)) AND ($4::text IS NULL OR direction = $4)
         AND ($5::text IS NULL OR status = $5) AND ($6::text IS NULL OR type = $6) AS fits
  FROM messages WHERE ${ownedSql('instance_id', '$1', is && { is, than: '$8' })}
  ${inOrder} LIMIT $2
), fitting AS (
  SELECT id, nth FROM passed WHERE fits ORDER BY nth LIMIT $7
)
SELECT (SELECT count(*)::integer FROM passed) AS scanned,
       (SELECT id FROM passed ORDER BY nth DESC LIMIT 1) AS edge,
       (SELECT array_agg(id ORDER BY nth) FROM fitting) AS ids`;
}

const LIST_NEWEST = { name: 'messages-list-newest', text: listSql('DESC') };
const LIST_BEFORE = { name: 'messages-list-before', text: listSql('DESC', '<') };
const LIST_AFTER = { name: 'messages-list-after', text: listSql('ASC', '>') };
