import type { Message } from '@posthorn/sdk/index.ts';
import { useClient } from '../../api/api-context.ts';
import { useFeed } from '../../api/use-feed.ts';
import type { Filters } from './filters.ts';

const PAGE = 50;
/** Later pages are larger, because a company has few requests a minute. */
const NEXT_PAGE = 200;

/** The messages of an instance that fit the filters, newest first. */
export function useMessages({ instance, chat, direction, status, type }: Filters) {
  const client = useClient();
  return useFeed<Message, string>({
    queryKey: ['messages', 'list', instance, chat, direction, status, type],
    enabled: instance !== undefined,
    idOf: ({ message_id: id }) => id,
    read: async (before, signal) => {
      const query = { chat_jid: chat, direction, status, type, before, limit: before ? NEXT_PAGE : PAGE };
      const page = await client.messages.list(
        { instanceId: instance ?? '', query },
        { ...(signal && { signal }) },
      );
      return { rows: page.data, next: page.next_cursor ?? undefined };
    },
  });
}
