import { type Coalescer, createCoalescer } from '../platform/database/coalesce.ts';
import type { Db } from '../platform/database/db.ts';
import type { Clock } from '../platform/process/clock.ts';
import type { MediaScope } from './media-port.ts';

/** A row of `media`, as sending and downloading need it. */
export interface StoredMedia {
  mediaId: string;
  companyId: number;
  instanceId: string;
  mimeType: string;
  fileName: string;
  sizeBytes: number;
  sha256: string;
  storageKey: string;
  animated: boolean;
  /** Null: it belongs to no chat yet. */
  remoteJid: string | null;
  createdAt: Date;
  /** Null: kept for good. */
  expiresAt: Date | null;
}

export type MediaFinder = Coalescer<MediaScope & { mediaId: string }, StoredMedia | null>;

/**
 * Media of an instance by its id, past its time or not, until the retention job has taken it. Look-ups that
 * arrive together share a query: a burst of sends by media_id asks once.
 */
export function createMediaFinder(deps: { db: Db }): MediaFinder {
  return createCoalescer<MediaScope & { mediaId: string }, StoredMedia | null>({
    maxBatch: 256,
    async run(batch) {
      const found = await deps.db.query<Row>({
        name: 'media-find',
        text: `SELECT * FROM media WHERE id = ANY ($1::uuid[])`,
        values: [[...new Set(batch.map((query) => query.mediaId))]],
      });
      const byId = new Map(found.rows.map((row) => [row.id, row]));
      return batch.map(({ mediaId, instanceId, companyId }) => {
        const row = byId.get(mediaId.toLowerCase());
        return row && row.instance_id === instanceId.toLowerCase() && row.company_id === companyId
          ? toStored(row)
          : null;
      });
    },
  });
}

export interface Row {
  id: string;
  company_id: number;
  instance_id: string;
  mime_type: string;
  file_name: string;
  size_bytes: number;
  sha256: Buffer;
  storage_key: string;
  animated: boolean;
  remote_jid: string | null;
  created_at: Date;
  expires_at: Date | null;
}

export function toStored(row: Row): StoredMedia {
  return {
    mediaId: row.id,
    companyId: row.company_id,
    instanceId: row.instance_id,
    mimeType: row.mime_type,
    fileName: row.file_name,
    sizeBytes: row.size_bytes,
    sha256: row.sha256.toString('hex'),
    storageKey: row.storage_key,
    animated: row.animated,
    remoteJid: row.remote_jid,
    createdAt: row.created_at,
    expiresAt: row.expires_at,
  };
}

/** Expired: gone for users, though the retention job may not have removed it yet. */
export function isExpired(media: Pick<StoredMedia, 'expiresAt'>, clock: Clock): boolean {
  return media.expiresAt !== null && media.expiresAt <= clock.now();
}
