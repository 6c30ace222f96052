import type { CompanyUsage, WebhookMetrics } from '@posthorn/sdk/index.ts';
import { useQuery } from '@tanstack/react-query';
import { useClient } from '../../api/api-context.ts';

const LOOK_EVERY_MS = 30_000;
const HOURS = 24;

/** How the deliveries of each webhook went in the last 24 hours. */
export function useWebhookMetrics() {
  const client = useClient();
  return useQuery<WebhookMetrics[]>({
    queryKey: ['webhooks', 'metrics'],
    queryFn: async ({ signal }) => {
      const { webhooks } = await client.deliveries.metrics({ query: { hours: HOURS } }, { signal });
      return webhooks;
    },
    refetchInterval: LOOK_EVERY_MS,
  });
}

export interface FirstSteps {
  connect: boolean;
  send: boolean;
  receive: boolean;
}

/**
 * Which of the first steps are done. The usage of the last 24 hours mostly shows it; otherwise it reads the messages.
 */
export function useFirstSteps({ instances, hours }: CompanyUsage) {
  const client = useClient();
  const paired = instances.find(({ phone }) => phone !== null);
  const counted = (what: 'sent' | 'received') => hours.some((hour) => hour[what] > 0);
  const [hasSent, hasReceived] = [counted('sent'), counted('received')];
  return useQuery<FirstSteps>({
    queryKey: ['messages', 'first', paired?.instance_id, hasSent, hasReceived],
    queryFn: async ({ signal }) => {
      const hasAny = async (direction: 'inbound' | 'outbound') => {
        if (!paired) return false;
        const query = { direction, limit: 1 };
        const found = await client.messages.list({ instanceId: paired.instance_id, query }, { signal });
        return found.data.length > 0;
      };
      return {
        connect: paired !== undefined,
        send: hasSent || (await hasAny('outbound')),
        receive: hasReceived || (await hasAny('inbound')),
      };
    },
  });
}
