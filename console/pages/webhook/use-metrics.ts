import type { WebhookMetrics } from '@posthorn/sdk/index.ts';
import { useQuery } from '@tanstack/react-query';
import { useClient } from '../../api/api-context.ts';

/** A sum over many rows, whose changes no event reports. */
const LOOK_EVERY_MS = 30_000;

/** How the attempts at one webhook went, in sum and by hour. */
export function useMetrics(webhookId: string, hours: number) {
  const client = useClient();
  return useQuery<WebhookMetrics | null>({
    queryKey: ['webhooks', webhookId, 'metrics', hours],
    queryFn: async ({ signal }) => {
      const query = { hours, webhook_id: webhookId };
      return (await client.deliveries.metrics({ query }, { signal })).webhooks[0] ?? null;
    },
    refetchInterval: LOOK_EVERY_MS,
  });
}
