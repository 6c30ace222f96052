import type { CompanyUsage } from '@posthorn/sdk/index.ts';
import { useQuery } from '@tanstack/react-query';
import { useClient } from './api-context.ts';

/** A sum over many rows, whose changes no event reports. */
const LOOK_EVERY_MS = 30_000;

/** The company's messages of the last 24 hours, its instances, and its use of the plan. */
export function useUsage() {
  const client = useClient();
  return useQuery<CompanyUsage>({
    queryKey: ['instances', 'usage'],
    queryFn: ({ signal }) => client.usage.company({}, { signal }),
    refetchInterval: LOOK_EVERY_MS,
    staleTime: LOOK_EVERY_MS / 2,
  });
}
