import type { media } from '@posthorn/contract/messaging/media.ts';
import { deleteMedia } from '@posthorn/core/media/delete-media.ts';
import { listConversations } from '@posthorn/core/media/list-conversations.ts';
import { listMedia } from '@posthorn/core/media/list-media.ts';
import type { OpenedMedia } from '@posthorn/core/media/open-media.ts';
import { findMedia, openMedia, readMediaInfo } from '@posthorn/core/media/read-media.ts';
import { uploadMedia } from '@posthorn/core/media/upload-media.ts';
import type { Handlers } from '../http/handler.ts';
import { paged } from '../http/paged.ts';
import { sendFile } from './media/send-file.ts';

export interface MediaRoutesDeps {
  storedMedia: OpenedMedia;
  /** Without a trailing slash. */
  publicUrl: string;
}

/** Upload, download, lists and deletion of media (MED-9 to MED-14, MED-22). */
export function mediaRoutes({ storedMedia, publicUrl }: MediaRoutesDeps): Handlers<typeof media> {
  const deps = { ...storedMedia, publicUrl };
  return {
    upload: async ({ principal, params, body, file }) => ({
      status: 201,
      body: await uploadMedia(deps, {
        principal,
        ...params,
        file,
        url: body.media_url,
        fileName: body.file_name,
      }),
    }),
    list: async ({ principal, params, query }) => {
      return paged(query, await listMedia(deps, { principal, ...params, filter: query }));
    },
    conversations: async ({ principal, params, query }) => ({
      status: 200,
      body: { data: await listConversations(deps, { principal, ...params, mimeType: query.mime_type }) },
    }),
    info: async ({ principal, params }) => ({
      status: 200,
      body: await readMediaInfo(deps, { principal, ...params }),
    }),
    download: async (input) => {
      const found = await findMedia(deps, { principal: input.principal, ...input.params });
      return sendFile(
        input,
        { ...found, open: (range) => openMedia(deps, found, range) },
        input.takeResponse.bind(input),
      );
    },
    async remove({ principal, params, traceId }) {
      await deleteMedia(deps, { principal, ...params, traceId });
      return { status: 204 };
    },
  };
}
