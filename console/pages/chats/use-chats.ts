import type { Chat, Message } from '@posthorn/sdk/index.ts';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useClient } from '../../api/api-context.ts';
import { changeRow, useFeed } from '../../api/use-feed.ts';

const PAGE = 50;
/** Later pages are larger, because a company has few requests a minute. */
const NEXT_PAGE = 200;

export const CHAT_FILTERS = ['all', 'unread', 'archived'] as const;
export type ChatFilter = (typeof CHAT_FILTERS)[number];

/** Whether a list of chats with this filter has the chat. */
function isAmong(
  show: ChatFilter,
  { archived, unread_count: unread, marked_unread: isMarked }: Chat,
): boolean {
  if (show === 'unread') return unread > 0 || isMarked;
  return archived === (show === 'archived');
}

/** The chats of an instance, the latest activity first. */
export function useChats(instanceId: string, show: ChatFilter) {
  const client = useClient();
  return useFeed<Chat, string>({
    queryKey: ['chats', instanceId, 'list', show],
    idOf: ({ chat_jid: id }) => id,
    read: async (before, signal) => {
      const query = {
        before,
        limit: before ? NEXT_PAGE : PAGE,
        ...(show === 'unread' ? { unread: true } : { archived: show === 'archived' }),
      };
      const page = await client.chats.list({ instanceId, query }, { ...(signal && { signal }) });
      return { rows: page.data, next: page.next_cursor ?? undefined };
    },
  });
}

export function useChat(instanceId: string, chatId: string) {
  const client = useClient();
  return useQuery<Chat>({
    queryKey: ['chats', instanceId, 'one', chatId],
    queryFn: ({ signal }) => client.chats.get({ instanceId, chatId }, { signal }),
  });
}

/** The messages of one chat, newest first. */
export function useConversation(instanceId: string, chatId: string) {
  const client = useClient();
  return useFeed<Message, string>({
    queryKey: ['chats', instanceId, 'messages', chatId],
    idOf: ({ message_id: id }) => id,
    read: async (before, signal) => {
      const query = { chat_jid: chatId, before, limit: PAGE };
      const page = await client.messages.list({ instanceId, query }, { ...(signal && { signal }) });
      return { rows: page.data, next: page.next_cursor ?? undefined };
    },
  });
}

export type ChatChange =
  | { what: 'read'; read: boolean }
  | { what: 'archive'; archived: boolean }
  | { what: 'pin'; pinned: boolean }
  | { what: 'mute'; muted: boolean };

/** Changes a chat here and on the phone. */
export function useChatChange(instanceId: string, chatId: string) {
  const client = useClient();
  const queries = useQueryClient();
  return useMutation({
    mutationFn: ({ what, ...body }: ChatChange) =>
      client.chats[what]({ instanceId, chatId, body: body as never }) as Promise<Chat>,
    onSuccess: (chat) => {
      queries.setQueryData(['chats', instanceId, 'one', chatId], chat);
      const isIt = ({ chat_jid: id }: Chat) => id === chat.chat_jid;
      for (const show of CHAT_FILTERS) {
        const queryKey = ['chats', instanceId, 'list', show];
        changeRow(queries, { queryKey, isIt }, isAmong(show, chat) ? chat : null);
      }
      return queries.invalidateQueries({ queryKey: ['chats', instanceId, 'list'] });
    },
  });
}
