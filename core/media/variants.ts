import { randomUUID } from 'node:crypto';
import { rm } from 'node:fs/promises';
import { ApiError } from '@posthorn/contract/api-error.ts';
import { FREE_LIMITS } from '../access/free-limits.ts';
import type { StoredMedia } from './find-media.ts';
import { MediaUnusable } from './media-port.ts';
import type { OpenedMedia } from './open-media.ts';
import { requireStorage } from './require-storage.ts';
import { discardObject, writeObject } from './save-media.ts';
import { requireRoom, roomSql } from './storage-quota.ts';

/** `plain`: the media itself, measured. `voice`: a voice note. `loop`: a GIF as a video. */
export type VariantName = 'plain' | 'voice' | 'loop';

/** Measurements of a variant, or of its source. */
export interface VariantDetails {
  widthPx?: number;
  heightPx?: number;
  durationS?: number;
  /** 64 bytes, base64: voice notes. */
  waveform?: string;
  /** JPEG, base64. */
  thumbnail?: string;
  /** Animated stickers. */
  animated?: boolean;
}

/** The form of a media in which the network takes it, kept with the media. */
export interface MediaVariant {
  name: VariantName;
  /** Null: the bytes are the media's own. */
  storageKey: string | null;
  mimeType: string;
  sizeBytes: number;
  details: VariantDetails;
}

export type NewVariant = Omit<MediaVariant, 'storageKey'> & {
  /** Its own bytes, if it has any; ownership of the file passes on. */
  file?: { path: string; sizeBytes: number };
};

export async function findVariant(
  { db }: Pick<OpenedMedia, 'db'>,
  mediaId: string,
  name: VariantName,
): Promise<MediaVariant | null> {
  const found = await db.query<{
    storage_key: string | null;
    mime_type: string;
    size_bytes: number;
    details: VariantDetails;
  }>({
    name: 'media-find-variant',
    text: `SELECT storage_key, mime_type, size_bytes, details FROM media_variants
           WHERE media_id = $1 AND variant = $2`,
    values: [mediaId, name],
  });
  const row = found.rows[0];
  if (!row) return null;
  const { storage_key, mime_type, size_bytes, details } = row;
  return { name, storageKey: storage_key, mimeType: mime_type, sizeBytes: size_bytes, details };
}

/**
 * Stores a variant with its media; of two processes that made the same concurrently, the first one's is kept.
 * Throws errors of the storage and the database, ApiError 404 NOT_FOUND when the instance is gone. If the media was
 * removed meanwhile nothing is stored, and the variant is returned as it would have been. Its bytes count like any: {@link MediaUnusable} `media_storage_full`
 * without room.
 */
export async function saveVariant(
  media: Pick<OpenedMedia, 'db' | 'clock' | 'storage'>,
  stored: StoredMedia,
  { file, ...variant }: NewVariant,
): Promise<MediaVariant> {
  const storage = requireStorage(media);
  const ownBytes = file ? file.sizeBytes : 0;
  if (file) await requireRoomFor(media, stored, file);
  const storageKey = file ? `${stored.storageKey}-${variant.name}-${randomUUID()}` : null;
  if (file && storageKey) {
    const object = { key: storageKey, scope: stored, file, mimeType: variant.mimeType };
    await writeObject({ ...media, storage }, object).finally(() => rm(file.path, { force: true }));
  }
  const inserted = await media.db.query<{ fits: boolean; made: boolean | null }>({
    name: 'media-insert-variant',
    text: `
      WITH ${roomSql({ company: '$8', bytes: '$9', freeMb: '$10' })}, made AS (
        INSERT INTO media_variants (media_id, variant, storage_key, mime_type, size_bytes, details, created_at,
                                    company_id)
        SELECT id, $2, $3, $4, $5, $6, $7, company_id FROM media, room WHERE id = $1 AND room.fits
        -- Media without bytes of its own was looked at for another type of message before.
        ON CONFLICT (media_id, variant) DO UPDATE SET details = media_variants.details || excluded.details
        WHERE media_variants.storage_key IS NULL AND excluded.storage_key IS NULL
        RETURNING true AS made
      ), kept AS (
        DELETE FROM media_trash WHERE storage_key = $3 AND EXISTS (SELECT 1 FROM made)
      )
      SELECT room.fits, made.made FROM room LEFT JOIN made ON true`,
    values: [
      stored.mediaId,
      variant.name,
      storageKey,
      variant.mimeType,
      variant.sizeBytes,
      JSON.stringify(variant.details),
      media.clock.now(),
      stored.companyId,
      ownBytes,
      FREE_LIMITS.storageMb,
    ],
  });
  const mine = { ...variant, storageKey };
  const room = inserted.rows[0];
  if (room?.made) return mine;
  if (room && !room.fits) {
    if (storageKey) await discardObject({ ...media, storage }, storageKey);
    throw new MediaUnusable('media_storage_full');
  }
  // Ours stays noted as trash and is removed when that is due: a reader that has it open can still read it.
  return (await findVariant(media, stored.mediaId, variant.name)) ?? mine;
}

/** Before it is written. Its file is taken over, and so goes. */
async function requireRoomFor(
  media: Pick<OpenedMedia, 'db'>,
  stored: StoredMedia,
  file: { path: string; sizeBytes: number },
): Promise<void> {
  try {
    await requireRoom(media, stored.companyId, file.sizeBytes);
  } catch (err) {
    await rm(file.path, { force: true });
    if (err instanceof ApiError) throw new MediaUnusable('media_storage_full', { cause: err });
    throw err;
  }
}
