import type { Chat } from '@posthorn/contract/messaging/chats.ts';
import { requireInstance } from '../access/instance-scope.ts';
import type { Principal } from '../access/principal.ts';
import type { Db } from '../platform/database/db.ts';
import { cutPage } from '../platform/database/paging.ts';
import type { Clock } from '../platform/process/clock.ts';
import { type ChatRow, chatView, SHOWN_CHATS } from './chat-view.ts';
import { decodePosition, encodePosition, notValid } from './cursor.ts';

export interface ChatFilter {
  archived?: boolean | undefined;
  unread?: boolean | undefined;
  label?: string | undefined;
  before?: string | undefined;
  limit: number;
}

/** The words of the partial indexes, so that they serve. */
const UNREAD = '(c.unread_count > 0 OR c.marked_unread)';

/**
 * The chats of an instance by keyset, those with the latest activity first (CHT-4). Archived chats and unread chats
 * have indexes of their own; the chats of a label are few, and sorted. Throws 404 INSTANCE_NOT_FOUND, 400 BAD_REQUEST.
 */
export async function listChats(
  deps: { db: Db; clock: Clock },
  input: { principal: Principal; instanceId: string; filter: ChatFilter },
): Promise<{ data: Chat[]; nextCursor: string | null }> {
  const { filter } = input;
  const { instanceId } = await requireInstance(deps.db, input.principal, input.instanceId);
  const [activeAt, chatJid] = filter.before ? positionOf(filter.before) : [null, null];
  const values: unknown[] = [instanceId, filter.limit + 1];
  const conditions = ['c.instance_id = $1', ...choices(filter)];
  if (activeAt) {
    values.push(activeAt, chatJid);
    conditions.push(`(c.active_at, c.chat_jid) < ($${values.length - 1}::timestamptz, $${values.length})`);
  }
  let from = 'chats c';
  if (filter.label !== undefined) {
    values.push(filter.label);
    from = `label_links k JOIN chats c ON c.instance_id = k.instance_id AND c.chat_jid = k.chat_jid`;
    conditions.push(
      `k.instance_id = $1 AND k.label_id = $${values.length} AND k.message_key = '' AND k.associated`,
    );
  }
  const found = await deps.db.query<ChatRow>(
    `WITH page AS MATERIALIZED (
       SELECT c.* FROM ${from} WHERE ${conditions.join(' AND ')}
       ORDER BY c.active_at DESC, c.chat_jid DESC LIMIT $2
     ) ${SHOWN_CHATS} ORDER BY page.active_at DESC, page.chat_jid DESC`,
    values,
  );
  const { page, last } = cutPage(found.rows, filter.limit);
  const now = deps.clock.now();
  return {
    data: page.map((row) => chatView(row, now)),
    nextCursor: last && encodePosition(last.active_at.toISOString(), last.chat_jid),
  };
}

function choices({ archived, unread }: ChatFilter): string[] {
  return [
    ...(archived === undefined ? [] : [archived ? 'c.archived' : 'NOT c.archived']),
    ...(unread === undefined ? [] : [unread ? UNREAD : `NOT ${UNREAD}`]),
  ];
}

function positionOf(cursor: string): [Date, string] {
  const [at, jid] = decodePosition(cursor);
  const activeAt = new Date(at);
  if (Number.isNaN(activeAt.getTime())) throw notValid();
  return [activeAt, jid];
}
