import { apiError } from '@posthorn/contract/api-error.ts';
import { type MediaSources, MediaUnusable, type WorkerMedia } from './media-port.ts';

function refuse(): never {
  throw apiError('SERVICE_UNAVAILABLE', { message: 'media storage not configured' });
}

/** An installation without media storage: sends with media answer 503 (MED-17), everything else works. */
export const noMediaSources: MediaSources = {
  fromUrl: async () => refuse(),
  fromBase64: async () => refuse(),
  fromUpload: async () => refuse(),
  find: async () => null,
};

/** The worker's side of the same: what is queued with media fails, what arrives is told without it. */
export const noWorkerMedia: WorkerMedia = {
  sources: noMediaSources,
  preparer: {
    prepare: async () => {
      throw new MediaUnusable('media_storage_not_configured');
    },
  },
  inbound: null,
};
