import { type CreateWebhookBody, toArray, type Webhook } from '@posthorn/sdk/index.ts';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useClient } from '../../api/api-context.ts';

const PAGE = 200;
const SHOWN_MAX = 1_000;

/** All webhooks of the company, newest first. */
export function useWebhooks({ enabled }: { enabled: boolean }) {
  const client = useClient();
  return useQuery<Webhook[]>({
    queryKey: ['webhooks', 'list'],
    queryFn: ({ signal }) =>
      toArray(client.webhooks.list, { query: { limit: PAGE } }, { max: SHOWN_MAX, signal }),
    enabled,
  });
}

/** Creates a webhook; only the answer contains its secret. */
export function useCreateWebhook() {
  const client = useClient();
  const queries = useQueryClient();
  return useMutation({
    mutationFn: (body: CreateWebhookBody) => client.webhooks.create({ body }),
    onSuccess: () => queries.invalidateQueries({ queryKey: ['webhooks'] }),
  });
}
