import { apiError } from '@posthorn/contract/api-error.ts';
import type { Jid } from '@posthorn/contract/jid.ts';
import type { Chat, MuteChatBody } from '@posthorn/contract/messaging/chats.ts';
import type { Principal } from '../access/principal.ts';
import { holdAddresses } from '../instances/lock-leases.ts';
import { readKnownJid, readLidsOf } from '../lids/read-phones.ts';
import type { NetworkActions } from '../network/actions.ts';
import { plainIdOf } from '../platform/ids.ts';
import { askForChange } from '../rpc/ask-network.ts';
import type { RpcDeps } from '../rpc/request-owner.ts';
import { requireCapable } from '../rpc/require-capable.ts';
import { findChat } from './find-chat.ts';

export interface ChatInput {
  principal: Principal;
  instanceId: string;
  chatId: string;
  signal: AbortSignal;
}

/** The newest messages whose senders learn that they were read. */
const TOLD_READ_MAX = 1000;

/** Archives a chat here and on the devices, or brings it back (CHT-4). Throws as {@link changeChat}. */
export function archiveChat(deps: RpcDeps, input: ChatInput, archived: boolean): Promise<Chat> {
  return changeChat(deps, input, {
    op: 'chat_archive',
    args: (chat) => ({ chat, archived }),
    store: { text: 'archived = $4, archived_revision = $3', unless: 'archived_revision', values: [archived] },
  });
}

/** Pins a chat, or unpins it. 409 CONFLICT when the account has as many pinned as it may. */
export function pinChat(deps: RpcDeps, input: ChatInput, pinned: boolean): Promise<Chat> {
  return changeChat(deps, input, {
    op: 'chat_pin',
    args: (chat) => ({ chat, pinned }),
    store: { text: 'pinned = $4, pinned_revision = $3', unless: 'pinned_revision', values: [pinned] },
  });
}

/** Mutes a chat until a time or without an end, or unmutes it. 400 for a time that is past. */
export function muteChat(deps: RpcDeps, input: ChatInput, body: MuteChatBody): Promise<Chat> {
  const nowMs = deps.clock.now().getTime();
  const until = mutedUntil(body, nowMs);
  return changeChat(deps, input, {
    op: 'chat_mute',
    args: (chat) => ({ chat, until }),
    store: { text: 'muted_until = $4, muted_revision = $3', unless: 'muted_revision', values: [until] },
    refuse: () => {
      if (until !== null && until !== 0 && until <= nowMs) {
        throw apiError('BAD_REQUEST', { message: 'until: must be in the future' });
      }
    },
  });
}

function mutedUntil({ muted, until, duration_seconds }: MuteChatBody, nowMs: number): number | null {
  if (!muted) return null;
  if (duration_seconds !== undefined) return nowMs + duration_seconds * 1000;
  return until === undefined ? 0 : Date.parse(until);
}

/**
 * Marks a chat as unread, or as read, which the senders of its unread messages learn. A message that arrives while the
 * network is asked stays unread until the network reports the reading among the messages: its place there says which
 * messages came before it.
 */
export async function readChat(deps: RpcDeps, input: ChatInput, read: boolean): Promise<Chat> {
  await requireCapable(deps, input, 'chat_read');
  const { chat_jid: chat } = await findChat(deps, input);
  const { unread, messageIds } = read ? await findUnread(deps, input.instanceId, chat) : NOTHING_UNREAD;
  return changeChat(deps, input, {
    op: 'chat_read',
    args: (chat) => ({ chat, read, message_ids: messageIds }),
    store: {
      text: 'unread_count = greatest(0, unread_count - $4), marked_unread = $5, read_revision = $3',
      unless: 'read_revision',
      values: [unread, !read],
    },
  });
}

const NOTHING_UNREAD = { unread: 0, messageIds: [] as string[] };

/**
 * How much of a chat is unread, and the network's ids of those messages, oldest first. One statement: of two, a message
 * that came in between would be told as read in place of an older one.
 */
async function findUnread(
  deps: Pick<RpcDeps, 'db'>,
  instanceId: string,
  chatJid: string,
): Promise<typeof NOTHING_UNREAD> {
  // Messages stay under the anonymous id that they came from.
  const lids = await readLidsOf(deps.db, instanceId, chatJid);
  const found = await deps.db.query<{ unread: number; ids: string[] }>(
    `SELECT c.unread_count AS unread, ARRAY (
       SELECT received.network_id FROM unnest($3::text[]) AS own (jid) CROSS JOIN LATERAL (
         SELECT id, network_id FROM messages
         WHERE instance_id = $1 AND chat_jid = own.jid AND direction = 'inbound' AND type NOT IN ('reaction', 'poll_vote')
         ORDER BY id DESC LIMIT least(c.unread_count, $4)) AS received
       ORDER BY received.id DESC LIMIT least(c.unread_count, $4)) AS ids
     FROM chats c WHERE c.instance_id = $1 AND c.chat_jid = $2`,
    [instanceId, chatJid, [chatJid, ...lids], TOLD_READ_MAX],
  );
  const row = found.rows[0];
  return row ? { unread: row.unread, messageIds: row.ids.map(plainIdOf).toReversed() } : NOTHING_UNREAD;
}

type ChatCall = 'chat_archive' | 'chat_pin' | 'chat_mute' | 'chat_read';

interface Change<Op extends ChatCall> {
  op: Op;
  args(chat: Jid): NetworkActions[Op]['args'];
  /** The values to set: $3 is the revision, $4 and on are `values`. Does nothing when `unless` holds already. */
  store: { text: string; unless: string; values: unknown[] };
  refuse?: () => void;
}

/**
 * Has the devices change, stores what came of it, and gives the chat as it is then. Throws 404 NOT_FOUND, and as
 * `requestOwner` does.
 */
async function changeChat<Op extends ChatCall>(
  deps: RpcDeps,
  input: ChatInput,
  change: Change<Op>,
): Promise<Chat> {
  const { principal, instanceId, signal } = input;
  await requireCapable(deps, input, change.op);
  const { chat_jid: chat } = await findChat(deps, input);
  change.refuse?.();
  const revision = await askForChange(
    deps,
    { principal, instanceId, op: change.op, args: change.args(chat), signal },
    {
      too_many_pins: () =>
        apiError('CONFLICT', { message: 'the account has reached its limit of pinned chats' }),
    },
  );
  const { text, unless, values } = change.store;
  await deps.db.transaction(async (sql) => {
    await holdAddresses(sql, instanceId);
    // While the network is asked, the chat may move to the phone's address.
    const today = await readKnownJid(sql, instanceId, chat);
    await sql.query(
      `UPDATE chats SET ${text}, updated_at = $${values.length + 4}
       WHERE instance_id = $1 AND chat_jid = $2 AND ${unless} < $3`,
      [instanceId, today, revision, ...values, deps.clock.now()],
    );
  });
  return findChat(deps, input);
}
