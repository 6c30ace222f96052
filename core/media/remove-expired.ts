import type { Db } from '../platform/database/db.ts';
import type { Clock } from '../platform/process/clock.ts';
import type { Storage } from '../platform/storage/storage.ts';
import { waitedForSql } from './waited-for.ts';

const BATCH = 500;
const REMOVALS_AT_ONCE = 8;

interface RemoveDeps {
  db: Db;
  clock: Clock;
  signal: AbortSignal;
}

/**
 * Deletes the rows of media past its time; a trigger notes their objects as trash. Media that a queued or
 * scheduled send still waits for stays until that is done. Answers how many rows went.
 */
export async function removeExpired({ db, clock, signal }: RemoveDeps): Promise<number> {
  const now = clock.now();
  let removed = 0;
  // Keyset over what was looked at: rows that have to stay must not be met again and again.
  let after: { expires_at: Date; id: string } | null = null;
  while (!signal.aborted) {
    const batch: { rows: { expires_at: Date; id: string; gone: boolean }[] } = await db.query({
      name: 'media-remove-expired',
      text: EXPIRED,
      values: [now, after?.expires_at ?? null, after?.id ?? null, BATCH],
    });
    removed += batch.rows.filter((row) => row.gone).length;
    after = batch.rows.at(-1) ?? null;
    if (batch.rows.length < BATCH) break;
  }
  return removed;
}

/** Deletes the media and the archives of instances that are gone. Answers how many rows of media went. */
export async function removeOrphans({ db, signal }: Omit<RemoveDeps, 'clock'>): Promise<number> {
  const orphans = await db.query<{ instance_id: string }>('SELECT instance_id FROM media_orphans LIMIT 100');
  let removed = 0;
  for (const { instance_id } of orphans.rows) {
    for (;;) {
      if (signal.aborted) return removed;
      const gone = await db.query(
        `DELETE FROM media WHERE id IN (SELECT id FROM media WHERE instance_id = $1 LIMIT ${BATCH})`,
        [instance_id],
      );
      removed += gone.rowCount ?? 0;
      if ((gone.rowCount ?? 0) < BATCH) break;
    }
    await db.query('DELETE FROM message_archives WHERE instance_id = $1', [instance_id]);
    await db.query('DELETE FROM media_orphans WHERE instance_id = $1', [instance_id]);
  }
  return removed;
}

/**
 * Removes the objects that are due from the storage, and then their notes: a removal that was interrupted is
 * done again. One that fails stays for the next round. Answers how many objects went.
 */
export async function emptyTrash({
  db,
  clock,
  storage,
  signal,
}: RemoveDeps & { storage: Storage }): Promise<{ removed: number; failed: number }> {
  const now = clock.now();
  let removed = 0;
  let failed = 0;
  let after = '';
  while (!signal.aborted) {
    const due = await db.query<{ storage_key: string }>(
      `SELECT storage_key FROM media_trash WHERE due_at <= $1 AND storage_key > $2
       ORDER BY storage_key LIMIT ${BATCH}`,
      [now, after],
    );
    const gone: string[] = [];
    const keys = due.rows.map((row) => row.storage_key);
    await Promise.all(
      Array.from({ length: REMOVALS_AT_ONCE }, async (_, nth) => {
        for (const [at, key] of keys.entries()) {
          if (at % REMOVALS_AT_ONCE !== nth || signal.aborted) continue;
          await storage.remove(key).then(
            () => gone.push(key),
            () => failed++,
          );
        }
      }),
    );
    await db.query('DELETE FROM media_trash WHERE storage_key = ANY ($1)', [gone]);
    removed += gone.length;
    if (keys.length < BATCH) break;
    after = keys.at(-1) ?? after;
  }
  return { removed, failed };
}

const EXPIRED = `
WITH expired AS MATERIALIZED (
  SELECT id, instance_id, expires_at FROM media
  WHERE expires_at <= $1 AND ($2::timestamptz IS NULL OR (expires_at, id) > ($2, $3::uuid))
  ORDER BY expires_at, id LIMIT $4
), gone AS (
  DELETE FROM media USING expired
  WHERE media.id = expired.id AND media.id::text NOT IN (${waitedForSql('SELECT instance_id FROM expired')})
  RETURNING media.id
)
SELECT expired.expires_at, expired.id, gone.id IS NOT NULL AS gone
FROM expired LEFT JOIN gone ON gone.id = expired.id
ORDER BY expired.expires_at, expired.id`;
