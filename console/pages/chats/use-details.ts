import { type ChatNote, type Contact, type Group, type Label, PosthornError } from '@posthorn/sdk/index.ts';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useClient } from '../../api/api-context.ts';

export type Party = { group: Group; contact: null } | { group: null; contact: Contact | null };

/** The other party of a chat: a group with its members, or a contact; null if the phone knows no contact. */
export function useParty(instanceId: string, chatId: string) {
  const client = useClient();
  return useQuery<Party>({
    queryKey: ['chats', instanceId, 'party', chatId],
    queryFn: async ({ signal }) => {
      if (chatId.endsWith('@g.us'))
        return {
          group: await client.groups.get({ instanceId, groupJid: chatId }, { signal }),
          contact: null,
        };
      try {
        return {
          group: null,
          contact: await client.contacts.get({ instanceId, contactId: chatId }, { signal }),
        };
      } catch (error) {
        if (error instanceof PosthornError && error.code === 'NOT_FOUND')
          return { group: null, contact: null };
        throw error;
      }
    },
  });
}

export function useBlock(instanceId: string, chatId: string) {
  const client = useClient();
  const queries = useQueryClient();
  return useMutation({
    mutationFn: (block: boolean) =>
      client.contacts[block ? 'block' : 'unblock']({ instanceId, contactId: chatId }),
    onSuccess: () => queries.invalidateQueries({ queryKey: ['chats', instanceId, 'party', chatId] }),
  });
}

/** The labels of the instance, and putting them on a chat and off. */
export function useLabels(instanceId: string, chatId: string) {
  const client = useClient();
  const queries = useQueryClient();
  const labels = useQuery<readonly Label[]>({
    queryKey: ['chats', instanceId, 'labels'],
    queryFn: async ({ signal }) => (await client.labels.list({ instanceId }, { signal })).labels,
  });
  const toggle = useMutation({
    mutationFn: ({ labelId, on }: { labelId: string; on: boolean }) =>
      client.labels[on ? 'addToChat' : 'removeFromChat']({ instanceId, chatId, labelId }),
    onSuccess: () => queries.invalidateQueries({ queryKey: ['chats', instanceId] }),
  });
  return { labels, toggle };
}

/** Notes on a chat: for colleagues, never sent. */
export function useNotes(instanceId: string, chatId: string) {
  const client = useClient();
  const queries = useQueryClient();
  const queryKey = ['chats', instanceId, 'notes', chatId];
  const refresh = () => queries.invalidateQueries({ queryKey });
  const notes = useQuery<readonly ChatNote[]>({
    queryKey,
    queryFn: async ({ signal }) => (await client.notes.list({ instanceId, chatId }, { signal })).notes,
  });
  const add = useMutation({
    mutationFn: (note: string) => client.notes.create({ instanceId, chatId, body: { note } }),
    onSuccess: refresh,
  });
  const remove = useMutation({
    mutationFn: (noteId: number) => client.notes.remove({ instanceId, chatId, noteId }),
    onSuccess: refresh,
  });
  return { notes, add, remove };
}
