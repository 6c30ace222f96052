import { type QueueTask, toArray } from '@posthorn/sdk/index.ts';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useClient } from '../../api/api-context.ts';

/** Tasks leave the queue by themselves, so the page polls. */
const LOOK_EVERY_MS = 5_000;
const SHOWN_MAX = 200;

/** Lists the accepted sends of an instance that are not sent yet, in their order; one or all can be cancelled. */
export function useQueue(instanceId: string) {
  const client = useClient();
  const queries = useQueryClient();
  const queue = useQuery<QueueTask[]>({
    queryKey: ['messages', 'queue', instanceId],
    queryFn: ({ signal }) =>
      toArray(client.queue.list, { instanceId, query: { limit: SHOWN_MAX } }, { max: SHOWN_MAX, signal }),
    refetchInterval: LOOK_EVERY_MS,
  });
  const cancel = useMutation({
    mutationFn: async (taskId: string | null) => {
      if (taskId === null) await client.queue.clear({ instanceId });
      else await client.queue.cancel({ instanceId, taskId });
    },
    onSettled: () => queries.invalidateQueries({ queryKey: ['messages'] }),
  });
  return { queue, cancel };
}
