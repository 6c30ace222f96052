import { apiError } from '@posthorn/contract/api-error.ts';
import type { MediaSources } from './media-port.ts';

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
