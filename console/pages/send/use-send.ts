import type { SendAccepted } from '@posthorn/sdk/index.ts';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { useClient } from '../../api/api-context.ts';

export type Draft = { to: string } & (
  | { kind: 'text'; text: string }
  | { kind: 'image'; file: File; caption: string }
);

/**
 * Sends what the form holds. The form keeps one idempotency key until `renew`: however often it is submitted, by a
 * second click or after an answer that was lost, the message is sent once. Another content needs another key.
 */
export function useSend(instanceId: string) {
  const client = useClient();
  const queries = useQueryClient();
  const [key, setKey] = useState(newKey);
  const send = useMutation<SendAccepted, Error, Draft>({
    mutationFn: (draft) => {
      const { to } = draft;
      const common = { instanceId, idempotencyKey: key };
      if (draft.kind === 'text')
        return client.messages.sendText({ ...common, body: { to, text: draft.text } });
      return client.messages.sendImage({
        ...common,
        body: { to, file: draft.file, ...(draft.caption && { caption: draft.caption }) },
      });
    },
    onSuccess: () => queries.invalidateQueries({ queryKey: ['messages', 'list'] }),
  });
  return {
    ...send,
    renew() {
      setKey(newKey());
      send.reset();
    },
  };
}

/** `randomUUID` exists under https and on localhost alone. */
function newKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return `console-${[...bytes].map((byte) => byte.toString(16).padStart(2, '0')).join('')}`;
}
