import { hash } from 'node:crypto';
import { apiError } from '@posthorn/contract/api-error.ts';
import { MEDIA_MAX_BYTES, URL_CACHE_DAYS } from '@posthorn/contract/limits.ts';
import type { Db } from '../platform/database/db.ts';
import { answeringInTime, type DatabaseWait } from '../platform/database/in-time.ts';
import { DAY_MS } from '../platform/durations.ts';
import { createBase64Decoder } from './base64-decoder.ts';
import { FetchFailed, fetchMedia } from './fetch-media.ts';
import { isExpired, type MediaFinder, type StoredMedia } from './find-media.ts';
import type { MediaDeps } from './media-deps.ts';
import type { MediaKind, MediaRecord, MediaScope, MediaSources } from './media-port.ts';
import { fetchErrorOf, MediaRejected, sendErrorOf, unsupportedAs } from './media-rejected.ts';
import { canBeSentAs } from './media-type.ts';
import { requireStorage } from './require-storage.ts';
import { saveMedia } from './save-media.ts';
import { requireRoom } from './storage-quota.ts';

/** Base64 text decoded at once: the memory that decoding takes beside the text itself. */
const SLICE_CHARS = 1 << 20;

/** The sources of a send's media (MED-1). */
export function createMediaSources(deps: MediaDeps & { finder: MediaFinder }): MediaSources {
  const fetching = new Map<string, Promise<MediaRecord>>();

  return {
    async fromUrl(scope, url, kind, { signal, wait } = {}) {
      const urlHash = hash('sha256', url, 'buffer');
      // Concurrent sends that name one address share one fetch. It takes the first caller's time of waiting for the
      // database, but not that caller's signal: one going away must not fail the others.
      const key = `${scope.instanceId} ${kind} ${urlHash.toString('hex')}`;
      const shared = fetching.get(key) ?? fetchOnce(within(deps, wait), scope, { url, urlHash, kind });
      if (!fetching.has(key)) {
        fetching.set(key, shared);
        shared.catch(() => undefined).finally(() => fetching.delete(key));
      }
      return signal ? abortable(shared, signal) : shared;
    },
    async fromBase64(scope, data, kind, { wait } = {}) {
      const storage = requireStorage(deps);
      const release = deps.budget.take(scope.companyId, data.length);
      try {
        const decoder = createBase64Decoder();
        const file = await deps.spool.write(decoded(data, decoder));
        const named = { declaredType: decoder.mimeType(), fileName: '' };
        const takes = (mimeType: string) => canBeSentAs(mimeType, kind);
        return await saveMedia(
          { ...within(deps, wait), storage },
          { scope, origin: 'base64', file, takes, ...named },
        );
      } catch (err) {
        throw err instanceof MediaRejected ? sendErrorOf(err, kind) : err;
      } finally {
        release();
      }
    },
    async fromUpload(scope, upload, kind, { wait } = {}) {
      const storage = requireStorage(deps);
      const { stream, spooled, fileName, mimeType, isBase64 } = upload;
      const release = deps.budget.take(scope.companyId, spooled ? 0 : storage.writeMemoryBytes);
      try {
        return await saveMedia(
          { ...within(deps, wait), storage },
          {
            scope,
            origin: isBase64 ? 'base64' : 'uploads',
            file: spooled ?? (await deps.spool.write(stream)),
            declaredType: mimeType,
            fileName,
            takes: (type) => canBeSentAs(type, kind),
          },
        );
      } catch (err) {
        throw err instanceof MediaRejected ? sendErrorOf(err, kind) : err;
      } finally {
        release();
      }
    },
    async find(scope, mediaId, kind, { wait } = {}) {
      requireStorage(deps);
      const found = deps.finder.push({ ...scope, mediaId }, wait?.untilMs());
      const media = await (wait ? wait.for(found) : found);
      if (!media || (isExpired(media, deps.clock) && !(await isAwaited(within(deps, wait), media))))
        return null;
      if (!canBeSentAs(media.mimeType, kind)) throw unsupportedAs(kind, media.mimeType);
      return recordOf(media);
    },
  };
}

/** The same, with a database that answers within the time of one request. */
function within<Deps extends { db: Db }>(deps: Deps, wait: DatabaseWait | undefined): Deps {
  return wait ? { ...deps, db: answeringInTime(deps.db, wait) } : deps;
}

/** A scheduled send holds its media: what was there when it was scheduled is there when it is due. */
async function isAwaited({ db }: Pick<MediaDeps, 'db'>, media: StoredMedia): Promise<boolean> {
  const found = await db.query(
    `SELECT 1 FROM scheduled_sends WHERE instance_id = $1 AND status IN ('scheduled', 'claimed')
       AND body->>'media_id' = $2 LIMIT 1`,
    [media.instanceId, media.mediaId],
  );
  return found.rowCount !== 0;
}

async function fetchOnce(
  deps: MediaDeps,
  scope: MediaScope,
  { url, urlHash, kind }: { url: string; urlHash: Buffer; kind: MediaKind },
): Promise<MediaRecord> {
  const storage = requireStorage(deps);
  const cached = await findCached(deps, scope, urlHash);
  if (cached) {
    if (!canBeSentAs(cached.mimeType, kind)) throw fetchErrorOf(new MediaRejected('unsupported', cached));
    return cached;
  }
  const release = deps.budget.take(scope.companyId, storage.writeMemoryBytes);
  let leave: () => void = () => undefined;
  try {
    await requireRoom(deps, scope.companyId, 1);
    const { file, leave: leaveSpool, ...named } = await fetchToSpool(deps, scope, url);
    leave = leaveSpool;
    return await saveMedia(
      { ...deps, storage },
      {
        scope,
        origin: 'url-cache',
        file,
        ...named,
        takes: (mimeType) => canBeSentAs(mimeType, kind),
        urlHash,
        keepMs: URL_CACHE_DAYS * DAY_MS,
      },
    );
  } catch (err) {
    throw err instanceof MediaRejected ? fetchErrorOf(err) : err;
  } finally {
    leave();
    release();
  }
}

/**
 * `leave` releases the room in the spool, once the file is stored or removed. Throws ApiError 502
 * MEDIA_FETCH_FAILED, 503 SERVICE_UNAVAILABLE, or {@link MediaRejected} for what came but cannot be taken.
 */
export async function fetchToSpool(
  deps: Pick<MediaDeps, 'outbound' | 'spool' | 'room' | 'fetchTimeoutMs' | 'fetchMaxBytes'>,
  scope: MediaScope,
  url: string,
) {
  const signal = AbortSignal.timeout(deps.fetchTimeoutMs);
  const maxBytes = deps.fetchMaxBytes ?? MEDIA_MAX_BYTES;
  let leave: () => void = () => undefined;
  try {
    const { body, declaredType, fileName, lengthBytes } = await fetchMedia(deps, url, signal);
    try {
      if ((lengthBytes ?? 0) > maxBytes) throw new MediaRejected('too_large');
      leave = deps.room.take(scope.companyId, lengthBytes ?? maxBytes);
    } catch (err) {
      body.on('error', () => undefined).destroy();
      throw err;
    }
    return { file: await deps.spool.write(body, { maxBytes }), declaredType, fileName, leave };
  } catch (cause) {
    leave();
    const failed = (why: string) =>
      apiError('MEDIA_FETCH_FAILED', { message: `the media could not be fetched: ${why}`, cause });
    if (signal.aborted) throw failed('it took too long');
    if (cause instanceof FetchFailed) throw failed(cause.message);
    throw cause;
  }
}

/** The media fetched from this address into this instance within 7 days. */
async function findCached(
  { db, clock }: Pick<MediaDeps, 'db' | 'clock'>,
  scope: MediaScope,
  urlHash: Buffer,
): Promise<MediaRecord | null> {
  const found = await db.query<{
    id: string;
    mime_type: string;
    file_name: string;
    size_bytes: number;
    sha256: Buffer;
  }>({
    name: 'media-find-cached-url',
    text: `SELECT id, mime_type, file_name, size_bytes, sha256 FROM media
           WHERE instance_id = $1 AND company_id = $2 AND url_hash = $3 AND expires_at > $4
           ORDER BY expires_at DESC LIMIT 1`,
    values: [scope.instanceId, scope.companyId, urlHash, clock.now()],
  });
  const row = found.rows[0];
  if (!row) return null;
  return {
    mediaId: row.id,
    mimeType: row.mime_type,
    fileName: row.file_name,
    sizeBytes: row.size_bytes,
    sha256: row.sha256.toString('hex'),
  };
}

async function* decoded(
  data: string,
  decoder: ReturnType<typeof createBase64Decoder>,
): AsyncIterable<Uint8Array> {
  for (let at = 0; at < data.length; at += SLICE_CHARS) yield decoder.push(data.slice(at, at + SLICE_CHARS));
  yield decoder.end();
}

function recordOf({ mediaId, mimeType, fileName, sizeBytes, sha256 }: StoredMedia): MediaRecord {
  return { mediaId, mimeType, fileName, sizeBytes, sha256 };
}

function abortable<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  if (signal.aborted) return Promise.reject(signal.reason);
  return new Promise((resolve, reject) => {
    const abort = () => reject(signal.reason);
    signal.addEventListener('abort', abort, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort));
  });
}
