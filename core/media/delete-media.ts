import { apiError } from '@posthorn/contract/api-error.ts';
import type { Principal } from '../access/principal.ts';
import { recordAudit } from '../audit/record-audit.ts';
import type { Db } from '../platform/database/db.ts';
import type { Clock } from '../platform/process/clock.ts';
import type { MediaFinder } from './find-media.ts';
import { findMedia, mediaMissing } from './read-media.ts';
import { waitedForSql } from './waited-for.ts';

/**
 * Deletes media before its time (MED-22). Its bytes and those of its variants are the company's to use again at once;
 * triggers note the objects as trash, which the retention job takes. No other media has the same object, also not one
 * with the same bytes. Messages keep the id, which then answers 404.
 *
 * Throws ApiError 404 NOT_FOUND; 409 CONFLICT while a queued or scheduled send waits for it. A send that was accepted
 * at the same moment fails as media_not_found.
 */
export async function deleteMedia(
  deps: { db: Db; clock: Clock; finder: MediaFinder },
  input: { principal: Principal; instanceId: string; mediaId: string; traceId: string | null },
): Promise<void> {
  const { principal, traceId } = input;
  const { mediaId, instanceId, companyId, mimeType, sizeBytes } = await findMedia(deps, input);
  await deps.db.transaction(async (sql) => {
    const gone = await sql.query(DELETE, [mediaId]);
    if (gone.rowCount === 0) {
      const { rowCount } = await sql.query('SELECT FROM media WHERE id = $1', [mediaId]);
      throw rowCount === 0
        ? mediaMissing()
        : apiError('CONFLICT', { message: 'a queued or scheduled send still waits for this media' });
    }
    await recordAudit(sql, {
      companyId,
      userId: principal.userId,
      tokenId: principal.tokenId,
      action: 'media.deleted',
      instanceId,
      detail: { media_id: mediaId, mime_type: mimeType, size_bytes: sizeBytes },
      traceId,
      at: deps.clock.now(),
    });
  });
}

const DELETE = `
DELETE FROM media WHERE id = $1
  AND id::text NOT IN (${waitedForSql('SELECT instance_id FROM media WHERE id = $1')})`;
