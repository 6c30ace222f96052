import type { AdminInstance, Company, Feedback } from '@posthorn/sdk/index.ts';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useAuth } from '../../api/api-context.ts';
import { changeRow, useFeed } from '../../api/use-feed.ts';

const PAGE = 50;

/** All companies, and suspending one or taking it up again. */
export function useCompanies() {
  const { client } = useAuth();
  const queryKey = ['admin', 'companies'];
  const list = useFeed<Company, number>({
    queryKey,
    idOf: ({ id }) => id,
    read: async (page = 1, signal) => {
      const { data, total } = await client.admin.listCompanies(
        { query: { page, limit: PAGE } },
        { ...(signal && { signal }) },
      );
      return { rows: data, next: page * PAGE < total ? page + 1 : undefined };
    },
  });
  const change = useAdminChange(queryKey, ({ id, suspend }: { id: number; suspend: boolean }) =>
    client.admin[suspend ? 'suspendCompany' : 'reactivateCompany']({ companyId: id }),
  );
  return { list, change };
}

/** The instances of all companies. */
export function useAllInstances() {
  const { client } = useAuth();
  return useFeed<AdminInstance, string>({
    queryKey: ['admin', 'instances'],
    idOf: ({ id }) => id,
    read: async (before, signal) => {
      const query = { before, limit: PAGE };
      const page = await client.admin.listInstances({ query }, { ...(signal && { signal }) });
      return { rows: page.data, next: page.next_cursor ?? undefined };
    },
  });
}

/** Lists the events of the payment provider; one of them can be processed again. */
export function useProviderEvents() {
  const { billing } = useAuth();
  const queryKey = ['admin', 'provider events'];
  const list = useFeed<Awaited<ReturnType<typeof billing.admin.listEvents>>['data'][number], number>({
    queryKey,
    idOf: ({ id }) => id,
    read: async (before, signal) => {
      const query = { before, limit: PAGE };
      const page = await billing.admin.listEvents({ query }, { ...(signal && { signal }) });
      return { rows: page.data, next: page.next_before ?? undefined };
    },
  });
  return { list, reprocess: useAdminChange(queryKey, (id: number) => billing.admin.reprocessEvent({ id })) };
}

/** Lists the feedback of users; each can be marked as done. */
export function useFeedback() {
  const { client } = useAuth();
  const queryKey = ['admin', 'feedback'];
  const list = useFeed<Feedback, number>({
    queryKey,
    idOf: ({ id }) => id,
    read: async (before, signal) => {
      const query = { before, limit: PAGE };
      const page = await client.feedback.list({ query }, { ...(signal && { signal }) });
      return { rows: page.data, next: page.next_before ?? undefined };
    },
  });
  const change = useAdminChange(queryKey, ({ id, state }: { id: number; state: 'open' | 'done' }) =>
    client.feedback.update({ id, body: { state } }),
  );
  return { list, change };
}

/** Changes one row of a list; the answer has what changed. */
function useAdminChange<Row extends { id: number }, Input>(
  queryKey: readonly unknown[],
  run: (input: Input) => Promise<Row>,
) {
  const queries = useQueryClient();
  return useMutation({
    mutationFn: run,
    onSuccess: (changed) =>
      changeRow<Row>(queries, { queryKey, isIt: ({ id }) => id === changed.id }, changed),
    onSettled: () => queries.invalidateQueries({ queryKey: ['admin'] }),
  });
}
