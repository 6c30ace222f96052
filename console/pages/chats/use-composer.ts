import { useIsMutating, useMutation, useQueryClient } from '@tanstack/react-query';
import { useClient } from '../../api/api-context.ts';
import { timeFor } from '../../api/time-for.ts';
import { useIdempotencyKey } from '../../api/use-idempotency-key.ts';

export interface Draft {
  text: string;
  file: File | null;
  quotedId: string | undefined;
}

const BY_MIME = [
  ['image/', 'sendImage'],
  ['video/', 'sendVideo'],
  ['audio/', 'sendAudio'],
] as const;

/**
 * Sends a text to a chat, or a file by its type, with the text as the caption. `onSent` is called also after the user
 * left the chat; one who comes back finds the send still in progress.
 */
export function useComposer(instanceId: string, to: string, onSent: (draft: Draft) => void) {
  const client = useClient();
  const queries = useQueryClient();
  const { key, renew, handlers, changed } = useIdempotencyKey(`chat ${instanceId} ${to}`, {
    staysOpen: true,
  });
  const mutationKey = ['chats', instanceId, 'send', to];
  const send = useMutation({
    ...handlers,
    mutationKey,
    mutationFn: ({ text, file, quotedId }: Draft) => {
      const common = { instanceId, idempotencyKey: key };
      const body = { to, ...(quotedId && { quoted_id: quotedId }) };
      if (!file) return client.messages.sendText({ ...common, body: { ...body, text } });
      const method = BY_MIME.find(([prefix]) => file.type.startsWith(prefix))?.[1] ?? 'sendDocument';
      const captioned = text && method !== 'sendAudio' ? { caption: text } : {};
      const named = method === 'sendDocument' ? { file_name: file.name } : {};
      return client.messages[method](
        { ...common, body: { ...body, ...captioned, ...named, file } },
        timeFor(file),
      );
    },
    onSuccess: (_, draft) => {
      renew();
      onSent(draft);
      return queries.invalidateQueries({ queryKey: ['chats', instanceId] });
    },
  });
  return { send, isSending: useIsMutating({ mutationKey }) > 0, changed: () => changed(send) };
}

export type MessageAct =
  | { what: 'react'; messageId: string; emoji: string }
  | { what: 'edit'; messageId: string; content: string }
  | { what: 'delete'; messageId: string };

/** Reacts to a message, edits or deletes it. A second click repeats nothing: the button waits for the first. */
export function useMessageAct(instanceId: string, to: string) {
  const client = useClient();
  const queries = useQueryClient();
  return useMutation({
    mutationFn: async (act: MessageAct) => {
      const { messageId } = act;
      if (act.what === 'react')
        await client.messages.sendReaction({
          instanceId,
          body: { to, message_id: messageId, emoji: act.emoji },
        });
      else if (act.what === 'edit')
        await client.messages.edit({ instanceId, messageId, body: { content: act.content } });
      else await client.messages.remove({ instanceId, messageId, body: { to, message_id: messageId } });
    },
    onSuccess: () => queries.invalidateQueries({ queryKey: ['chats', instanceId, 'messages', to] }),
  });
}
