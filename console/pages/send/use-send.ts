import type { CallOptions, Client, SendAccepted } from '@posthorn/sdk/index.ts';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useClient } from '../../api/api-context.ts';
import { timeFor } from '../../api/time-for.ts';
import { useIdempotencyKey } from '../../api/use-idempotency-key.ts';
import type { SendKind } from '../../api/use-send-kinds.ts';

export interface Draft {
  kind: SendKind;
  body: Record<string, unknown>;
  file: File | null;
  /** Empty: now. */
  sendAt: string;
}
export type Sent = Pick<SendAccepted, 'message_id'> & { isScheduled: boolean };

type Method = (input: object, options: CallOptions) => Promise<SendAccepted>;

/** Sends the form's content with its idempotency key, or schedules it for later. */
export function useSend(instanceId: string) {
  const client = useClient();
  const queries = useQueryClient();
  const { key, handlers, changed } = useIdempotencyKey(`send ${instanceId}`);
  const send = useMutation<Sent, Error, Draft>({
    ...handlers,
    mutationFn: async ({ kind, body, file, sendAt }) => {
      const input = { instanceId, idempotencyKey: key };
      if (!sendAt) {
        const method = methodOf(client, kind);
        const { message_id } = await method(
          { ...input, body: { ...body, ...(file && { file }) } },
          timeFor(file),
        );
        return { message_id, isScheduled: false };
      }
      const media = file ? { media_id: await store(client, instanceId, file) } : {};
      const { message_id } = await client.scheduled.create({
        ...input,
        body: { type: kind.path as 'text', send_at: sendAt, body: { ...body, ...media } },
      });
      return { message_id, isScheduled: true };
    },
    onSuccess: ({ isScheduled }) =>
      queries.invalidateQueries({ queryKey: [isScheduled ? 'scheduled' : 'messages'] }),
  });
  return { send, changed: () => changed(send) };
}

function methodOf(client: Client, { method }: SendKind): Method {
  const [group, name] = method.split('.') as ['messages' | 'status', string];
  return (client[group] as unknown as Record<string, Method>)[name] as Method;
}

/** Stores a file first, since a scheduled send cannot carry one. */
async function store(client: Client, instanceId: string, file: File): Promise<string> {
  const stored = await client.media.upload({ instanceId, body: { file } as never }, timeFor(file));
  return stored.media_id;
}
