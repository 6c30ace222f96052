import type { Readable } from 'node:stream';
import { apiError } from '@posthorn/contract/api-error.ts';
import type { MediaInfo } from '@posthorn/contract/messaging/media.ts';
import type { Principal } from '../access/principal.ts';
import type { Db } from '../platform/database/db.ts';
import type { Clock } from '../platform/process/clock.ts';
import { type Storage, StorageMissing } from '../platform/storage/storage.ts';
import { isExpired, type MediaFinder, type StoredMedia } from './find-media.ts';
import { findScope } from './find-scope.ts';
import { mediaUrl } from './media-url.ts';
import { requireStorage } from './require-storage.ts';

interface ReadDeps {
  db: Db;
  clock: Clock;
  finder: MediaFinder;
}

interface MediaInput {
  principal: Principal;
  instanceId: string;
  mediaId: string;
}

/** Throws ApiError 404 NOT_FOUND: unknown, foreign, or past its time. */
export async function findMedia(deps: ReadDeps, input: MediaInput): Promise<StoredMedia> {
  const scope = await findScope(deps, input);
  const media = await deps.finder.push({ ...scope, mediaId: input.mediaId });
  if (!media || isExpired(media, deps.clock)) throw mediaMissing();
  return media;
}

export const MEDIA_NOT_FOUND = 'media not found';

export function mediaMissing(cause?: unknown) {
  return apiError('NOT_FOUND', { message: MEDIA_NOT_FOUND, cause });
}

/** The record of MED-12; `expires_at` only where it has one. */
export async function readMediaInfo(
  deps: ReadDeps & { publicUrl: string },
  input: MediaInput,
): Promise<MediaInfo> {
  const media = await findMedia(deps, input);
  const url = mediaUrl(deps.publicUrl, media.instanceId, media.mediaId);
  return {
    id: media.mediaId,
    mime_type: media.mimeType,
    file_name: media.fileName,
    file_size: media.sizeBytes,
    download_url: url,
    info_url: `${url}/info`,
    created_at: media.createdAt.toISOString(),
    ...(media.expiresAt ? { expires_at: media.expiresAt.toISOString() } : {}),
  };
}

/** The bytes, or a part of them. Throws ApiError 404 NOT_FOUND, 503 SERVICE_UNAVAILABLE. */
export async function openMedia(
  deps: { storage: Storage | null },
  media: StoredMedia,
  range?: { start: number; end: number },
): Promise<Readable> {
  try {
    return await requireStorage(deps).open(media.storageKey, range);
  } catch (cause) {
    if (cause instanceof StorageMissing) throw mediaMissing(cause);
    if ((cause as Error).name !== 'StorageError') throw cause;
    throw apiError('SERVICE_UNAVAILABLE', { cause, headers: { 'retry-after': '5' } });
  }
}
