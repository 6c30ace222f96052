import type { ScheduledSend } from '@posthorn/sdk/index.ts';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useClient } from '../../api/api-context.ts';
import { changeRow, useFeed } from '../../api/use-feed.ts';

const PAGE = 50;
const LOOK_EVERY_MS = 10_000;

/** The scheduled sends of an instance, and the mutation that cancels one. */
export function useScheduled(instanceId: string) {
  const client = useClient();
  const queries = useQueryClient();
  const queryKey = ['scheduled', instanceId];
  const list = useFeed<ScheduledSend, number>({
    queryKey,
    idOf: ({ id }) => id,
    refetchInterval: LOOK_EVERY_MS,
    read: async (page = 1, signal) => {
      const query = { page, limit: PAGE };
      const { data, total } = await client.scheduled.list(
        { instanceId, query },
        { ...(signal && { signal }) },
      );
      return { rows: data, next: page * PAGE < total ? page + 1 : undefined };
    },
  });
  const cancel = useMutation({
    mutationFn: (scheduledId: string) => client.scheduled.remove({ instanceId, scheduledId }),
    onSuccess: (_, scheduledId) => {
      const isIt = ({ id }: ScheduledSend) => id === scheduledId;
      changeRow(queries, { queryKey, isIt }, { status: 'cancelled' });
    },
    onSettled: () => queries.invalidateQueries({ queryKey: ['scheduled'] }),
  });
  return { list, cancel };
}
