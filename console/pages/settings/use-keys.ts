import { type Token, toArray } from '@posthorn/sdk/index.ts';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useClient } from '../../api/api-context.ts';

const PAGE = 200;
const SHOWN_MAX = 1_000;

/** The API keys of the company. Only the answer to creating a key contains the key itself. */
export function useKeys() {
  const client = useClient();
  const queries = useQueryClient();
  const refresh = () => queries.invalidateQueries({ queryKey: ['tokens'] });
  const keys = useQuery<Token[]>({
    queryKey: ['tokens'],
    queryFn: ({ signal }) =>
      toArray(client.tokens.list, { query: { limit: PAGE } }, { max: SHOWN_MAX, signal }),
  });
  const create = useMutation({
    mutationFn: (name: string) => client.tokens.create({ body: { name } }),
    // The key is shown once and must not stay in the cache.
    gcTime: 0,
    onSuccess: refresh,
  });
  const revoke = useMutation({
    mutationFn: (id: number) => client.tokens.revoke({ id }),
    onSettled: refresh,
  });
  return { keys, create, revoke };
}
