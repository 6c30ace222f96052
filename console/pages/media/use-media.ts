import type { MediaItem } from '@posthorn/sdk/index.ts';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useClient } from '../../api/api-context.ts';
import { timeFor } from '../../api/time-for.ts';
import { useFeed } from '../../api/use-feed.ts';

const PAGE = 50;

/** The stored media of an instance, newest first, and the mutations that store and delete a file. */
export function useMedia(instanceId: string, mimeType: string) {
  const client = useClient();
  const queries = useQueryClient();
  const queryKey = ['media-list', instanceId];
  const refresh = () => queries.invalidateQueries({ queryKey });
  const list = useFeed<MediaItem, number>({
    queryKey: [...queryKey, mimeType],
    idOf: ({ id }) => id,
    read: async (page = 1, signal) => {
      const query = { page, limit: PAGE, ...(mimeType && { mime_type: mimeType }) };
      const { data, total } = await client.media.list({ instanceId, query }, { ...(signal && { signal }) });
      return { rows: data, next: page * PAGE < total ? page + 1 : undefined };
    },
  });
  const upload = useMutation({
    mutationFn: (file: File) => client.media.upload({ instanceId, body: { file } as never }, timeFor(file)),
    onSuccess: refresh,
  });
  const remove = useMutation({
    mutationFn: (mediaId: string) => client.media.remove({ instanceId, mediaId }),
    onSettled: () => queries.resetQueries({ queryKey }),
  });
  return { list, upload, remove };
}
