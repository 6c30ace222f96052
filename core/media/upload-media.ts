import { apiError } from '@posthorn/contract/api-error.ts';
import type { UploadResult } from '@posthorn/contract/messaging/media.ts';
import type { Principal } from '../access/principal.ts';
import { findScope } from './find-scope.ts';
import type { MediaDeps } from './media-deps.ts';
import type { MediaScope, UploadedFile } from './media-port.ts';
import { MediaRejected, uploadErrorOf } from './media-rejected.ts';
import { fetchToSpool } from './media-sources.ts';
import { canBeSentAs } from './media-type.ts';
import { requireStorage } from './require-storage.ts';
import { saveMedia } from './save-media.ts';
import { requireRoom } from './storage-quota.ts';

export interface UploadInput {
  principal: Principal;
  instanceId: string;
  /** Exactly one of the two. */
  file?: UploadedFile | undefined;
  url?: string | undefined;
  fileName?: string | undefined;
}

/**
 * Stores a file, or what an address gives, under a new media_id (MED-9). Throws ApiError 400 BAD_REQUEST
 * with the messages of MED-10, 404 NOT_FOUND, 500 INTERNAL_SERVER_ERROR, 502 MEDIA_FETCH_FAILED, 503
 * SERVICE_UNAVAILABLE.
 */
export async function uploadMedia(deps: MediaDeps, input: UploadInput): Promise<UploadResult> {
  const storage = requireStorage(deps);
  const scope = await findScope(deps, input);
  const release = deps.budget.take(scope.companyId, input.file?.spooled ? 0 : storage.writeMemoryBytes);
  let leave: () => void = () => undefined;
  try {
    if (input.url !== undefined) await requireRoom(deps, scope.companyId, 1);
    const { file, declaredType, fileName, ...received } = await receive(deps, scope, input);
    leave = received.leave;
    const saved = await saveMedia(
      { ...deps, storage },
      {
        scope,
        origin: 'uploads',
        file,
        declaredType,
        fileName: input.fileName || fileName,
        // An upload is there to be sent later, at least as a document.
        takes: (mimeType) => canBeSentAs(mimeType, 'document'),
      },
    );
    return {
      media_id: saved.mediaId,
      mime_type: saved.mimeType,
      file_name: saved.fileName,
      file_size: saved.sizeBytes,
    };
  } catch (err) {
    throw err instanceof MediaRejected ? uploadErrorOf(err) : err;
  } finally {
    leave();
    release();
  }
}

async function receive(deps: MediaDeps, scope: MediaScope, { file, url }: UploadInput) {
  if (file) {
    const spooled = file.spooled ?? (await deps.spool.write(file.stream));
    return { file: spooled, declaredType: file.mimeType, fileName: file.fileName, leave: () => undefined };
  }
  if (url === undefined) throw apiError('BAD_REQUEST', { message: 'file required' });
  return fetchToSpool(deps, scope, url);
}
