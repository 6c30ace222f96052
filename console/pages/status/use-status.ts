import type { StatusItem, StatusViews } from '@posthorn/sdk/index.ts';
import { useQuery } from '@tanstack/react-query';
import { useClient } from '../../api/api-context.ts';
import { useFeed } from '../../api/use-feed.ts';

const PAGE = 50;

/** The statuses of an instance and of its contacts, newest first. */
export function useStatuses(instanceId: string, direction: StatusItem['direction']) {
  const client = useClient();
  return useFeed<StatusItem, number>({
    queryKey: ['messages', 'status', instanceId, direction],
    idOf: ({ status_message_id: id }) => id,
    read: async (page = 1, signal) => {
      const query = { direction, page, limit: PAGE };
      const { data, total } = await client.status.list({ instanceId, query }, { ...(signal && { signal }) });
      return { rows: data, next: page * PAGE < total ? page + 1 : undefined };
    },
  });
}

/** The viewers of one of the account's own statuses. */
export function useViews(instanceId: string, statusId: string) {
  const client = useClient();
  return useQuery<StatusViews>({
    queryKey: ['messages', 'status-views', instanceId, statusId],
    queryFn: ({ signal }) => client.status.views({ instanceId, statusId }, { signal }),
  });
}
