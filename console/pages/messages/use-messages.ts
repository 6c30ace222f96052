import { useInfiniteQuery } from '@tanstack/react-query';
import { useClient } from '../../api/api-context.ts';
import type { Filters } from './filters.ts';

const PAGE = 50;

/** The messages of an instance that fit the filters, newest first, one page after the other. */
export function useMessages({ instance, chat, direction, status, type }: Filters) {
  const client = useClient();
  return useInfiniteQuery({
    queryKey: ['messages', 'list', instance, chat, direction, status, type],
    enabled: instance !== undefined,
    queryFn: ({ pageParam, signal }) =>
      client.messages.list(
        {
          instanceId: instance ?? '',
          query: { chat_jid: chat, direction, status, type, before: pageParam, limit: PAGE },
        },
        { signal },
      ),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: ({ next_cursor }) => next_cursor ?? undefined,
  });
}
