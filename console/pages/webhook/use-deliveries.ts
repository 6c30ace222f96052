import { type DeliveryLog, toArray } from '@posthorn/sdk/index.ts';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useClient } from '../../api/api-context.ts';
import { useFeed } from '../../api/use-feed.ts';

/** No event reports an attempt, so a visible page polls for new ones. */
const LOOK_EVERY_MS = 5_000;
const PAGE = 50;
const FAILED_PAGE = 200;
/**
 * The most events that one click replays: more would keep the page busy for long, and a second click takes the next
 * ones.
 */
const REPLAYED_MAX = 5_000;
/** The most events that one request takes. */
const BULK = 500;

/** The attempts of a webhook, newest first. */
export function useDeliveries(webhookId: string) {
  const client = useClient();
  return useFeed<DeliveryLog, number>({
    queryKey: ['deliveries', 'of', webhookId],
    idOf: ({ id }) => id,
    read: async (page = 1, signal) => {
      const query = { page, limit: PAGE };
      const answer = await client.webhooks.logs({ webhookId, query }, { ...(signal && { signal }) });
      const { data, total, total_capped: isCapped } = answer;
      // The total is capped on the last page too, and on those behind it.
      const hasMore = data.length > 0 && (isCapped || page * PAGE < total);
      return { rows: data, next: hasMore ? page + 1 : undefined };
    },
    refetchInterval: LOOK_EVERY_MS,
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

/** Replays each event whose last attempt at this webhook, since a moment, failed. */
export function useReplayFailed(webhookId: string) {
  const client = useClient();
  const queries = useQueryClient();
  return useMutation({
    mutationFn: async (since: string) => {
      const query = { status: 'failure', webhook_id: webhookId, since, limit: FAILED_PAGE } as const;
      const failed = await toArray(client.deliveries.events, { query }, { max: REPLAYED_MAX });
      // An attempt made meanwhile shifts the pages, so that a row may come twice.
      const logIds = [...new Set(failed.map(({ log_id: id }) => id))];
      const done = { queued: 0, skipped: 0 };
      for (let at = 0; at < logIds.length; at += BULK) {
        const body = { log_ids: logIds.slice(at, at + BULK) };
        const { queued, skipped } = await client.deliveries.retryBulk({ body });
        done.queued += queued;
        done.skipped += skipped.length;
      }
      return done;
    },
    onSettled: () => queries.invalidateQueries({ queryKey: ['deliveries'] }),
  });
}
