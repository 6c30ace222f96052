import type { Message } from '@posthorn/sdk/index.ts';
import { useClient } from '../../api/api-context.ts';
import { textOfMessage } from '../../api/message-status.tsx';
import { useFeed } from '../../api/use-feed.ts';
import type { Filters } from './filters.ts';

const PAGE = 50;
/** Later pages are larger, because a company has few requests a minute. */
const NEXT_PAGE = 200;

const SHOWN_CHARS = 200;

/** The parts of a message that its row shows: the page keeps tens of thousands of them. */
export type ListedMessage = ReturnType<typeof listed>;

/** The messages of an instance that fit the filters, newest first. */
export function useMessages({ instance, chat, direction, status, type }: Filters) {
  const client = useClient();
  return useFeed<ListedMessage, string>({
    queryKey: ['messages', 'list', instance, chat, direction, status, type],
    enabled: instance !== undefined,
    idOf: ({ message_id: id }) => id,
    read: async (before, signal) => {
      const query = { chat_jid: chat, direction, status, type, before, limit: before ? NEXT_PAGE : PAGE };
      const page = await client.messages.list(
        { instanceId: instance ?? '', query },
        { ...(signal && { signal }) },
      );
      return { rows: page.data.map(listed), next: page.next_cursor ?? undefined };
    },
  });
}

function listed(message: Message) {
  return {
    message_id: message.message_id,
    instance_id: message.instance_id,
    direction: message.direction,
    chat_name: message.chat_name,
    phone: message.phone,
    chat_jid: message.chat_jid,
    message_type: message.message_type,
    status: message.status,
    created_at: message.created_at,
    text: textOfMessage(message).slice(0, SHOWN_CHARS),
  };
}
