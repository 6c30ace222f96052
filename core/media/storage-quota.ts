import { type ApiError, apiError } from '@posthorn/contract/api-error.ts';
import { FREE_LIMITS } from '../access/free-limits.ts';
import type { Db } from '../platform/database/db.ts';

export const MB = 1024 * 1024;

/**
 * SQL for a WITH clause: whether a company, locked until the statement ends, has room for that many more bytes.
 * Concurrent writers wait here, so together they never exceed the quota. A trigger adds the rows that the same
 * statement then inserts. A row without bytes of its own always fits.
 */
export function roomSql(params: { company: string; bytes: string; freeMb: string }): string {
  return `room AS MATERIALIZED (
    SELECT ${params.bytes}::bigint = 0 OR u.used_bytes + ${params.bytes}::bigint <= coalesce(c.storage_mb, ${params.freeMb}::integer)::bigint * ${MB} AS fits
    FROM media_usage u JOIN companies c ON c.id = u.company_id
    WHERE u.company_id = ${params.company} FOR UPDATE OF u
  )`;
}

/**
 * Refuses what does not fit before anything is written. It locks nothing: the insert checks again. Throws ApiError
 * 403 PLAN_LIMIT_REACHED.
 */
export async function requireRoom({ db }: { db: Db }, companyId: number, sizeBytes: number): Promise<void> {
  const found = await db.query<{ used_bytes: number; storage_mb: number }>({
    name: 'media-usage-read',
    text: `SELECT u.used_bytes, coalesce(c.storage_mb, $2::integer) AS storage_mb
           FROM media_usage u JOIN companies c ON c.id = u.company_id WHERE u.company_id = $1`,
    values: [companyId, FREE_LIMITS.storageMb],
  });
  const row = found.rows[0];
  if (row && row.used_bytes + sizeBytes > row.storage_mb * MB) throw storageFull();
}

export function storageFull(): ApiError {
  return apiError('PLAN_LIMIT_REACHED', { message: 'the media storage of your plan is full' });
}
