import { apiError } from '@posthorn/contract/api-error.ts';
import type { Chat } from '@posthorn/contract/messaging/chats.ts';
import { requireInstance } from '../access/instance-scope.ts';
import type { Principal } from '../access/principal.ts';
import type { Db } from '../platform/database/db.ts';
import type { Clock } from '../platform/process/clock.ts';
import { findChatJid } from './chat-jid.ts';
import { type ChatRow, chatView, SHOWN_CHATS } from './chat-view.ts';

/** One chat, by any spelling of its id. Throws 404 INSTANCE_NOT_FOUND or NOT_FOUND. */
export async function findChat(
  deps: { db: Db; clock: Clock },
  input: { principal: Principal; instanceId: string; chatId: string },
): Promise<Chat> {
  const { instanceId } = await requireInstance(deps.db, input.principal, input.instanceId);
  const chatJid = await findChatJid(deps.db, instanceId, input.chatId);
  const found =
    chatJid !== null
      ? await deps.db.query<ChatRow>({
          name: 'chats-find',
          text: `WITH page AS MATERIALIZED (SELECT * FROM chats WHERE instance_id = $1 AND chat_jid = $2) ${SHOWN_CHATS}`,
          values: [instanceId, chatJid],
        })
      : { rows: [] };
  const row = found.rows[0];
  if (!row) throw apiError('NOT_FOUND');
  return chatView(row, deps.clock.now());
}
