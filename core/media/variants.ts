import { randomUUID } from 'node:crypto';
import { rm } from 'node:fs/promises';
import type { StoredMedia } from './find-media.ts';
import type { PreparedMedia } from './media-port.ts';
import type { OpenedMedia } from './open-media.ts';
import { requireStorage } from './require-storage.ts';
import { writeObject } from './save-media.ts';

/** `plain`: the media itself, measured. `voice`: a voice note. `loop`: a GIF as a video. */
export type VariantName = 'plain' | 'voice' | 'loop';

/** What was measured, or made along with it. */
export type VariantDetails = Pick<
  PreparedMedia,
  'widthPx' | 'heightPx' | 'durationS' | 'waveform' | 'thumbnail' | 'animated'
>;

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
  /** Its own bytes, if it has any; taken over. */
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
 * Keeps a variant with its media; two processes that made the same at the same time keep the first. Throws
 * what the storage and the database say; media that went meanwhile keeps nothing, and the variant is then
 * what it would have been.
 */
export async function saveVariant(
  media: Pick<OpenedMedia, 'db' | 'clock' | 'storage'>,
  stored: StoredMedia,
  { file, ...variant }: NewVariant,
): Promise<MediaVariant> {
  const storage = requireStorage(media);
  const storageKey = file ? `${stored.storageKey}-${variant.name}-${randomUUID()}` : null;
  if (file && storageKey) {
    await writeObject({ ...media, storage }, storageKey, file, variant.mimeType).finally(() =>
      rm(file.path, { force: true }),
    );
  }
  const inserted = await media.db.query({
    name: 'media-insert-variant',
    text: `
      WITH made AS (
        INSERT INTO media_variants (media_id, variant, storage_key, mime_type, size_bytes, details, created_at)
        SELECT id, $2, $3, $4, $5, $6, $7 FROM media WHERE id = $1
        ON CONFLICT DO NOTHING RETURNING 1
      ), kept AS (
        DELETE FROM media_trash WHERE storage_key = $3 AND EXISTS (SELECT 1 FROM made)
      )
      SELECT 1 FROM made`,
    values: [
      stored.mediaId,
      variant.name,
      storageKey,
      variant.mimeType,
      variant.sizeBytes,
      JSON.stringify(variant.details),
      media.clock.now(),
    ],
  });
  const mine = { ...variant, storageKey };
  if (inserted.rowCount !== 0) return mine;
  // Ours stays noted as trash and goes when that is due: whoever holds it can still read it.
  return (await findVariant(media, stored.mediaId, variant.name)) ?? mine;
}
