import type { Connection, GiveCredentialsBody, Instance } from '@posthorn/sdk/index.ts';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useClient } from '../../api/api-context.ts';

/** States that end by themselves. The page polls in these, because events do not report every step. */
const PASSING: readonly string[] = ['CREATED', 'PAIRING'];
const LOOK_EVERY_MS = 4_000;

export interface ShownInstance {
  instance: Instance;
  connection: Connection;
}

/** An instance with the state of its connection and its last moves. */
export function useInstance(instanceId: string) {
  const client = useClient();
  return useQuery<ShownInstance>({
    queryKey: ['instances', instanceId],
    queryFn: async ({ signal }) => {
      const [instance, connection] = await Promise.all([
        client.instances.get({ instanceId }, { signal }),
        client.instances.connection({ instanceId }, { signal }),
      ]);
      return { instance, connection };
    },
    refetchInterval: ({ state }) =>
      PASSING.includes(state.data?.instance.state ?? '') ? LOOK_EVERY_MS : false,
  });
}

/** Gives an official number its credentials, which connects it. */
export function useGiveCredentials(instanceId: string) {
  const client = useClient();
  const queries = useQueryClient();
  return useMutation({
    mutationFn: (body: GiveCredentialsBody) => client.instances.giveCredentials({ instanceId, body }),
    onSuccess: () => queries.invalidateQueries({ queryKey: ['instances'] }),
  });
}

export type InstanceAction = 'connect' | 'disconnect' | 'restart' | 'logout' | 'remove';

/** Runs an action on an instance; the page then shows its effect. */
export function useInstanceAction(instanceId: string, onRemoved: () => void) {
  const client = useClient();
  const queries = useQueryClient();
  return useMutation({
    mutationFn: async (action: InstanceAction) => {
      await client.instances[action]({ instanceId });
      return action;
    },
    onSettled: async (action) => {
      if (action === 'remove') {
        queries.removeQueries({ queryKey: ['instances', instanceId] });
        onRemoved();
      }
      await queries.invalidateQueries({ queryKey: ['instances'] });
    },
  });
}
