import type { CallOptions, Client, SendAccepted } from '@posthorn/sdk/index.ts';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useClient } from '../../api/api-context.ts';
import { timeFor } from '../../api/time-for.ts';
import { useDraft } from '../../api/use-draft.ts';
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
  // Another try must name the same media: a key goes with one content.
  const [stored, setStored] = useDraft<{ file: File; id: string } | null>(`send ${instanceId} stored`, null);
  /** Stores a file first, since a scheduled send cannot carry one. */
  const idOf = async (file: File): Promise<string> => {
    if (stored?.file === file) return stored.id;
    const { media_id: id } = await client.media.upload(
      { instanceId, body: { file } as never },
      timeFor(file),
    );
    setStored({ file, id });
    return id;
  };
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
      const media = file ? { media_id: await idOf(file) } : {};
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
