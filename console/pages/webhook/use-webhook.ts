import type { UpdateWebhookBody, Webhook } from '@posthorn/sdk/index.ts';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useClient } from '../../api/api-context.ts';

/** A webhook and the mutations on it. */
export function useWebhook(webhookId: string, onRemoved: () => void) {
  const client = useClient();
  const queries = useQueryClient();
  const refresh = () => queries.invalidateQueries({ queryKey: ['webhooks'] });
  const webhook = useQuery<Webhook>({
    queryKey: ['webhooks', webhookId],
    queryFn: ({ signal }) => client.webhooks.get({ webhookId }, { signal }),
  });
  const update = useMutation({
    mutationFn: (body: UpdateWebhookBody) => client.webhooks.update({ webhookId, body }),
    onSuccess: refresh,
  });
  const test = useMutation({
    mutationFn: () => client.webhooks.test({ webhookId }),
    onSuccess: () => queries.invalidateQueries({ queryKey: ['deliveries'] }),
  });
  const rotate = useMutation({
    mutationFn: () => client.webhooks.rotateSecret({ webhookId }),
    // The secret is shown once and must not stay in the cache.
    gcTime: 0,
  });
  const remove = useMutation({
    mutationFn: () => client.webhooks.remove({ webhookId }),
    onSuccess: async () => {
      queries.removeQueries({ queryKey: ['webhooks', webhookId] });
      onRemoved();
      await refresh();
    },
  });
  return { webhook, update, test, rotate, remove };
}
