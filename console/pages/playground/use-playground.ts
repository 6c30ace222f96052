import type { Playground, PlaygroundMessage, PlaygroundSent } from '@posthorn/sdk/index.ts';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useClient } from '../../api/api-context.ts';
import { timeFor } from '../../api/time-for.ts';

/** No event reports the playground's messages to a company. */
const LOOK_EVERY_MS = 1_000;
const ENDED: readonly string[] = ['read', 'played', 'failed'];

/** Whether there is a playground, and how many sends of the day are left. */
export function usePlayground() {
  const client = useClient();
  return useQuery<Playground>({
    queryKey: ['playground', 'state'],
    queryFn: ({ signal }) => client.playground.show({}, { signal }),
  });
}

export interface Draft {
  kind: string;
  body: Record<string, unknown>;
  file: File | null;
}

/** Sends to the simulated phone. */
export function usePlaygroundSend(onSent: (sent: PlaygroundSent) => void) {
  const client = useClient();
  const queries = useQueryClient();
  return useMutation<PlaygroundSent, Error, Draft>({
    mutationFn: async ({ kind, body, file }) => {
      const media = file ? { media_base64: await dataUrlOf(file), file_name: file.name } : {};
      return client.playground.send({ body: { kind, ...body, ...media } as never }, timeFor(file));
    },
    onSuccess: (sent) => {
      onSent(sent);
      return queries.invalidateQueries({ queryKey: ['playground', 'state'] });
    },
  });
}

/** The current state of a message of the playground, and the phone's view of it. */
export function usePlaygroundMessage(messageId: string) {
  const client = useClient();
  return useQuery<PlaygroundMessage>({
    queryKey: ['playground', 'message', messageId],
    queryFn: ({ signal }) => client.playground.message({ messageId }, { signal }),
    refetchInterval: ({ state }) => (ENDED.includes(state.data?.status ?? '') ? false : LOOK_EVERY_MS),
  });
}

function dataUrlOf(file: File): Promise<string> {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve(String(reader.result));
    reader.onerror = () => reject(reader.error);
    reader.readAsDataURL(file);
  });
}
