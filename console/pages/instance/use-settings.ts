import type { InstanceSettings } from '@posthorn/sdk/index.ts';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useClient } from '../../api/api-context.ts';

export function useSettings(instanceId: string) {
  const client = useClient();
  const queries = useQueryClient();
  const queryKey = ['instances', instanceId, 'settings'];
  const settings = useQuery<InstanceSettings>({
    queryKey,
    queryFn: ({ signal }) => client.instances.getSettings({ instanceId }, { signal }),
  });
  const change = useMutation({
    mutationFn: ({ name, value }: { name: keyof InstanceSettings; value: boolean }) =>
      client.instances.updateSettings({ instanceId, body: { [name]: value } }),
    // Only this setting: the answer to an earlier change may come after that to a later one.
    onSuccess: (saved, { name }) =>
      queries.setQueryData<InstanceSettings>(queryKey, (now) => now && { ...now, [name]: saved[name] }),
  });
  return { settings, change };
}
