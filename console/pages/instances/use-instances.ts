import { type Instance, toArray } from '@posthorn/sdk/index.ts';
import { useQuery } from '@tanstack/react-query';
import { useClient } from '../../api/api-context.ts';

/** More instances than anybody looks through; a plan allows fewer. */
const SHOWN_MAX = 1_000;
const PAGE = 200;

/** All instances of the company, newest first. */
export function useInstances({ enabled = true } = {}) {
  const client = useClient();
  return useQuery<Instance[]>({
    queryKey: ['instances', 'list'],
    queryFn: ({ signal }) =>
      toArray(client.instances.list, { query: { limit: PAGE } }, { max: SHOWN_MAX, signal }),
    enabled,
  });
}
