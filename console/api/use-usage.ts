import type { CompanyUsage } from '@posthorn/sdk/index.ts';
import { useQuery } from '@tanstack/react-query';
import { useClient } from './api-context.ts';

/** A sum over many rows, and no event tells of it. */
const LOOK_EVERY_MS = 30_000;

/** What the company sent and received in 24 hours, its instances, and what it uses of its plan. */
export function useUsage() {
  const client = useClient();
  return useQuery<CompanyUsage>({
    queryKey: ['instances', 'usage'],
    queryFn: ({ signal }) => client.usage.company({}, { signal }),
    refetchInterval: LOOK_EVERY_MS,
    staleTime: LOOK_EVERY_MS / 2,
  });
}
