import { pipeline, type Readable, Transform } from 'node:stream';
import { MEDIA_MAX_BYTES } from '@posthorn/contract/limits.ts';
import type { Sql } from '../platform/database/db.ts';
import { withTimeout } from '../platform/process/with-timeout.ts';
import { type InboundMediaStore, MediaUnusable } from './media-port.ts';
import { MediaRejected } from './media-rejected.ts';
import { type SaveDeps, saveMedia } from './save-media.ts';
import type { Spool } from './spool.ts';
import { requireRoom } from './storage-quota.ts';

/** The total time of a download of which hardly anything comes, as a multiple of the time that it may stall. */
const WHOLE_FACTOR = 12;
/** A download lasts as long as it needs where it comes at this rate. */
const LEAST_BYTES_PER_MS = 16;

/**
 * Stores what the network delivered (MED-15). Throws {@link MediaUnusable} `media_empty` or `media_too_large` for
 * what will never be stored, anything else to be retried. A download is bounded in time, since what arrives later in
 * its chat waits for it. ApiError 403 PLAN_LIMIT_REACHED when the company's storage is full.
 */
export function createInboundStore(
  deps: SaveDeps & { spool: Spool },
  { silenceMs }: { silenceMs: number },
): InboundMediaStore {
  return {
    async store(scope, media) {
      const known = await findStored(deps.db, scope.instanceId, media.key);
      if (known) return known;
      // When the storage is full, nothing is downloaded.
      await requireRoom(deps, scope.companyId, 1);
      const source = await openWithin(media.open, silenceMs);
      try {
        const file = await deps.spool.write(source, { maxBytes: MEDIA_MAX_BYTES });
        const saved = await saveMedia(deps, {
          scope,
          origin: 'inbound',
          file,
          declaredType: media.mimeType,
          fileName: media.fileName,
          // The instance's owner can have all that people send each other.
          takes: () => true,
          inboundKey: media.key,
          remoteJid: media.remoteJid,
        });
        return { mediaId: saved.mediaId, mimeType: saved.mimeType, animated: saved.animated };
      } catch (err) {
        if (err instanceof MediaRejected && err.flaw === 'empty') throw new MediaUnusable('media_empty');
        if (err instanceof MediaRejected && err.flaw === 'too_large') {
          throw new MediaUnusable('media_too_large');
        }
        throw err;
      } finally {
        source.destroy();
      }
    },
  };
}

/** Opens a download, and bounds its time. Throws when nothing arrives. */
async function openWithin(open: () => Promise<Readable>, silenceMs: number): Promise<Readable> {
  const opening = open();
  const source = await withTimeout(opening, silenceMs, () => {
    throw new Error('the download did not begin');
  }).catch((err) => {
    // A download that opens too late is not used.
    opening.then((stream) => stream.destroy()).catch(() => undefined);
    throw err;
  });
  return watched(source, silenceMs);
}

function watched(source: Readable, silenceMs: number): Readable {
  const stop = () => source.destroy(new Error('the download took too long'));
  const silence = setTimeout(stop, silenceMs);
  let untilMs = performance.now() + silenceMs * WHOLE_FACTOR;
  const through = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      untilMs += chunk.length / LEAST_BYTES_PER_MS;
      if (performance.now() > untilMs) return stop();
      silence.refresh();
      done(null, chunk);
    },
  });
  return pipeline(source, through, () => clearTimeout(silence));
}

async function findStored(sql: Sql, instanceId: string, key: string) {
  const found = await sql.query<{ id: string; mime_type: string; animated: boolean }>({
    name: 'media-find-inbound',
    text: 'SELECT id, mime_type, animated FROM media WHERE instance_id = $1 AND inbound_key = $2',
    values: [instanceId, key],
  });
  const row = found.rows[0];
  return row ? { mediaId: row.id, mimeType: row.mime_type, animated: row.animated } : null;
}
