import type { DeliveryLog } from '@posthorn/sdk/index.ts';
import { useInfiniteQuery, useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useClient } from '../../api/api-context.ts';

/** No event tells of an attempt, so the page looks for new ones while it is seen. */
const LOOK_EVERY_MS = 5_000;
const PAGE = 50;

/** The attempts of a webhook, newest first. */
export function useDeliveries(webhookId: string) {
  const client = useClient();
  return useInfiniteQuery({
    queryKey: ['deliveries', 'of', webhookId],
    queryFn: ({ pageParam, signal }) =>
      client.webhooks.logs({ webhookId, query: { page: pageParam, limit: PAGE } }, { signal }),
    initialPageParam: 1,
    getNextPageParam: ({ page, limit, total, total_capped }) =>
      total_capped || page * limit < total ? page + 1 : undefined,
    refetchInterval: ({ state }) => ((state.data?.pages.length ?? 0) > 1 ? false : LOOK_EVERY_MS),
  });
}

/** The attempts of one event at one webhook, oldest first. */
export function useEventDeliveries(webhookId: string, eventId: string) {
  const client = useClient();
  return useQuery<DeliveryLog[]>({
    queryKey: ['deliveries', 'event', eventId, webhookId],
    queryFn: async ({ signal }) => {
      const { logs } = await client.webhooks.eventDeliveries({ query: { event_id: eventId } }, { signal });
      return logs.filter(({ webhook_id }) => String(webhook_id) === webhookId);
    },
    refetchInterval: LOOK_EVERY_MS,
  });
}

export function useReplay(webhookId: string) {
  const client = useClient();
  const queries = useQueryClient();
  return useMutation({
    mutationFn: (logId: number) => client.webhooks.retryLog({ webhookId, logId }),
    onSuccess: () => queries.invalidateQueries({ queryKey: ['deliveries'] }),
  });
}
