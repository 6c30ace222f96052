import { randomUUID } from 'node:crypto';
import { apiError } from '@posthorn/contract/api-error.ts';
import { FREE_LIMITS } from '../access/free-limits.ts';
import { beforeFirst } from '../platform/before-first.ts';
import { isUnavailable } from '../platform/database/database-errors.ts';
import type { Db, Sql } from '../platform/database/db.ts';
import { DAY_MS } from '../platform/durations.ts';
import type { Clock } from '../platform/process/clock.ts';
import type { Storage } from '../platform/storage/storage.ts';
import type { MediaRecord, MediaScope } from './media-port.ts';
import { MediaRejected } from './media-rejected.ts';
import type { SpooledFile } from './spool.ts';
import { objectsOf } from './storage-key.ts';
import { requireRoom, roomSql, storageFull } from './storage-quota.ts';
import type { TypeDetector } from './type-detector.ts';

/** Where media came from, as stored (MED-2, MED-4). `base64` is kept for good, the others for a time. */
export type MediaOrigin = 'uploads' | 'url-cache' | 'base64' | 'inbound';

export interface SaveDeps {
  db: Db;
  clock: Clock;
  storage: Storage;
  types: TypeDetector;
  retentionDays: number;
}

export interface NewMedia {
  scope: MediaScope;
  origin: MediaOrigin;
  file: SpooledFile;
  /** The type that its sender declares; it decides only where the content leaves the type open. */
  declaredType: string;
  fileName: string;
  /** Whether this type may be stored from this origin. */
  takes: (mimeType: string) => boolean;
  inboundKey?: string;
  remoteJid?: string;
  urlHash?: Buffer;
  /** Replaces the retention of the origin. */
  keepMs?: number;
}

export interface SavedMedia extends MediaRecord {
  animated: boolean;
}

/** No write takes this long: an older object without a row belongs to a process that died. */
const ABANDONED_MS = DAY_MS;
const FILE_NAME_MAX_CHARS = 255;

/**
 * Stores a spooled file and its row; the file is removed in any case. Permanent media is stored once: the same bytes,
 * or the same received message, return the existing media. Throws {@link MediaRejected} `unsupported`, ApiError 403
 * PLAN_LIMIT_REACHED, 500 INTERNAL_SERVER_ERROR, 503, 404 NOT_FOUND when the instance is gone.
 */
export async function saveMedia(deps: SaveDeps, media: NewMedia): Promise<SavedMedia> {
  const { file, scope } = media;
  try {
    const { mimeType, animated } = await deps.types.detect(
      { path: file.path, declared: media.declaredType },
      media.scope.companyId,
    );
    if (!media.takes(mimeType)) throw new MediaRejected('unsupported', { mimeType });
    // Permanent media is sent again and again: when it is found here, nothing is written.
    const twin = media.origin === 'base64' ? await findTwin(deps.db, media) : undefined;
    if (twin) return savedOf(twin);
    await requireRoom(deps, scope.companyId, file.sizeBytes);
    const id = randomUUID();
    const storageKey = `${objectsOf(scope.companyId)}${scope.instanceId}/${id.slice(0, 2)}/${id}`;
    const saved: SavedMedia = {
      mediaId: id,
      mimeType,
      fileName: fileNameOf(media.fileName, mimeType),
      sizeBytes: file.sizeBytes,
      sha256: file.sha256,
      animated,
    };
    await writeObject(deps, { key: storageKey, scope, file, mimeType });
    return await insertRow(deps, media, saved, storageKey);
  } finally {
    await file.discard();
  }
}

export interface NewObject {
  key: string;
  scope: MediaScope;
  file: { path: string; sizeBytes: number };
  mimeType: string;
}

/**
 * Noted as trash first: whatever fails from here on, a row names the object. Nothing is noted or written once the
 * instance is gone, so that an erasure that has seen no note of a company (ACC-26) meets no object of it later.
 * Throws ApiError 404 NOT_FOUND then, 500 INTERNAL_SERVER_ERROR, 503.
 */
export async function writeObject(
  deps: Pick<SaveDeps, 'db' | 'clock' | 'storage'>,
  { key, scope, file, mimeType }: NewObject,
): Promise<void> {
  const dueAt = new Date(deps.clock.now().getTime() + ABANDONED_MS);
  const noted = await deps.db.query({
    name: 'media-trash-ahead',
    text: `INSERT INTO media_trash (storage_key, due_at)
           SELECT $1, $2 FROM instances WHERE id = $3 AND company_id = $4 FOR KEY SHARE`,
    values: [key, dueAt, scope.instanceId, scope.companyId],
  });
  if (noted.rowCount === 0) throw instanceGone();
  try {
    await deps.storage.put(key, file, { mimeType });
  } catch (cause) {
    // A storage that failed to answer may store it yet: the note stays, and removes it again in a day.
    await deps.storage.remove(key).catch(() => undefined);
    throw apiError('INTERNAL_SERVER_ERROR', { message: 'upload failed', cause });
  }
}

const instanceGone = () => apiError('NOT_FOUND', { message: 'instance not found' });

/** Never throws: if it cannot be removed now, it is removed with the trash. */
export async function discardObject(
  { db, storage }: Pick<SaveDeps, 'db' | 'storage'>,
  storageKey: string,
): Promise<void> {
  const gone = await storage.remove(storageKey).then(
    () => true,
    () => false,
  );
  const text = gone
    ? 'DELETE FROM media_trash WHERE storage_key = $1'
    : `UPDATE media_trash SET due_at = '-infinity' WHERE storage_key = $1`;
  await db.query(text, [storageKey]).catch(() => undefined);
}

async function insertRow(
  deps: SaveDeps,
  media: NewMedia,
  saved: SavedMedia,
  storageKey: string,
): Promise<SavedMedia> {
  const { scope, origin } = media;
  const now = deps.clock.now();
  const keepMs = media.keepMs ?? deps.retentionDays * DAY_MS;
  let row: Row | undefined;
  let fits = true;
  try {
    const inserted = await deps.db.query<Inserted>({
      name: 'media-insert',
      text: INSERT,
      values: [
        saved.mediaId,
        scope.companyId,
        scope.instanceId,
        origin,
        saved.mimeType,
        saved.fileName,
        saved.sizeBytes,
        Buffer.from(saved.sha256, 'hex'),
        storageKey,
        saved.animated,
        media.remoteJid ?? null,
        media.inboundKey ?? null,
        media.urlHash ?? null,
        now,
        origin === 'base64' ? null : new Date(now.getTime() + keepMs),
        FREE_LIMITS.storageMb,
      ],
    });
    const made = inserted.rows[0];
    fits = made?.fits ?? true;
    row = made?.id ? (made as Row) : await findTwin(deps.db, media);
  } catch (cause) {
    // The row may be there, and only the answer lost. If it is not, the note ahead removes the object in a day.
    if (isUnavailable(cause)) throw cause;
    await discardObject(deps, storageKey);
    throw apiError('INTERNAL_SERVER_ERROR', { message: 'failed to save media record', cause });
  }
  if (row?.id === saved.mediaId) return saved;
  await discardObject(deps, storageKey);
  if (!row && !fits) throw storageFull();
  if (!row) throw instanceGone();
  return savedOf(row);
}

function savedOf(row: Row): SavedMedia {
  return {
    mediaId: row.id,
    mimeType: row.mime_type,
    fileName: row.file_name,
    sizeBytes: row.size_bytes,
    sha256: row.sha256.toString('hex'),
    animated: row.animated,
  };
}

/** The same received message or, for permanent media, the same bytes; none when the instance is gone. */
async function findTwin(sql: Sql, media: NewMedia): Promise<Row | undefined> {
  const found = await sql.query<Row>({
    name: 'media-find-twin',
    text: `SELECT id, mime_type, file_name, size_bytes, sha256, animated FROM media
           WHERE instance_id = $1 AND (inbound_key = $2 OR ($2 IS NULL AND source = 'base64' AND sha256 = $3))
           LIMIT 1`,
    values: [media.scope.instanceId, media.inboundKey ?? null, Buffer.from(media.file.sha256, 'hex')],
  });
  return found.rows[0];
}

/** The file name that people gave it, without a path; else a name that fits its type. */
function fileNameOf(given: string, mimeType: string): string {
  const name = [...given.replace(/^.*[\\/]/s, '').toWellFormed()]
    // biome-ignore lint/suspicious/noControlCharactersInRegex: they have no place in a header or on a phone
    .filter((char) => !/[\u0000-\u001f\u007f\u2028\u2029\u202a-\u202e\u2066-\u2069]/.test(char))
    .join('')
    .trim();
  if (name !== '' && name !== '.' && name !== '..') return [...name].slice(0, FILE_NAME_MAX_CHARS).join('');
  const [type, subtype = 'bin'] = beforeFirst(mimeType, ';').split('/') as [string, string?];
  const extension =
    EXTENSIONS[mimeType] ?? beforeFirst(subtype, '+').replace(/^x-/, '').replace(/[^\w]/g, '');
  return `${type === 'application' ? 'file' : type}.${extension || 'bin'}`;
}

const EXTENSIONS: Record<string, string> = {
  'image/jpeg': 'jpg',
  'image/svg+xml': 'svg',
  'audio/mpeg': 'mp3',
  'audio/mp4': 'm4a',
  'audio/ogg; codecs=opus': 'ogg',
  'video/quicktime': 'mov',
  'video/x-matroska': 'mkv',
  'text/plain': 'txt',
  'application/octet-stream': 'bin',
  'application/vnd.openxmlformats-officedocument.wordprocessingml.document': 'docx',
  'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet': 'xlsx',
  'application/vnd.openxmlformats-officedocument.presentationml.presentation': 'pptx',
};

interface Row {
  id: string;
  mime_type: string;
  file_name: string;
  size_bytes: number;
  sha256: Buffer;
  animated: boolean;
}

/** Inserts a row only if there is room and no equal media. */
type Inserted = { fits: boolean } & (Row | { id: null });

/** The instance is locked, so that no row is inserted while it is deleted. */
const INSERT = `
WITH here AS MATERIALIZED (
  SELECT 1 FROM instances WHERE id = $3 AND company_id = $2 FOR KEY SHARE
), ${roomSql({ company: '$2', bytes: '$7', freeMb: '$16' })}, made AS (
  INSERT INTO media (id, company_id, instance_id, source, mime_type, file_name, size_bytes, sha256, storage_key,
                     animated, remote_jid, inbound_key, url_hash, created_at, expires_at)
  SELECT $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15 FROM here, room WHERE room.fits
  ON CONFLICT DO NOTHING
  RETURNING id, mime_type, file_name, size_bytes, sha256, animated
), kept AS (
  DELETE FROM media_trash WHERE storage_key = $9 AND EXISTS (SELECT 1 FROM made)
)
SELECT made.*, room.fits FROM room LEFT JOIN made ON true`;
