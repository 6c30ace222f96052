import { tellHoldChanged } from '../../access/company-hold.ts';
import { forgetCached } from '../../access/forget-cached.ts';
import type { Db, Sql } from '../../platform/database/db.ts';
import type { Clock } from '../../platform/process/clock.ts';
import type { EntitlementUpdate } from './entitlement-update.ts';

/**
 * Applies an entitlement update to a company: its limits count from the next request on in every process; a
 * suspension disconnects its instances, and the end of one reconnects those whose desired state is connected.
 * Idempotent, and safe in any order. False for an update older than what is known, or of a company that is gone.
 */
export async function applyPlanLimits(
  deps: { db: Db; clock: Clock },
  update: Omit<EntitlementUpdate, 'kind' | 'installation'>,
): Promise<boolean> {
  return deps.db.transaction(async (sql) => {
    const now = deps.clock.now();
    const { limits } = update;
    const { rows } = await sql.query<{ was_suspended: boolean }>(
      `WITH before AS (SELECT id, billing_suspended_at FROM companies WHERE id = $1 FOR NO KEY UPDATE)
       UPDATE companies
       SET billing_version = $2, max_instances = $3, max_users = $4, max_webhooks = $5, requests_per_minute = $6,
           storage_mb = $9, message_retention_days = $10,
           billing_suspended_at = CASE WHEN $7 THEN coalesce(before.billing_suspended_at, $8::timestamptz) END,
           updated_at = $8
       FROM before
       WHERE companies.id = before.id AND billing_version < $2
       RETURNING before.billing_suspended_at IS NOT NULL AS was_suspended`,
      [
        update.company_id,
        update.version,
        limits?.max_instances ?? null,
        limits?.max_users ?? null,
        limits?.max_webhooks ?? null,
        limits?.requests_per_minute ?? null,
        update.suspended,
        now,
        limits?.storage_mb ?? null,
        limits?.message_retention_days ?? null,
      ],
    );
    if (!rows[0]) return false;
    if (!update.suspended) await resumeMarked(sql, update.company_id);
    if (rows[0].was_suspended !== update.suspended) await tellHoldChanged(sql, update.company_id);
    await forgetCached(sql, `company:${update.company_id}`);
    return true;
  });
}

/**
 * Before holds were read from the company, a suspension overwrote and marked the desired state. A suspension from
 * that time may still end.
 */
async function resumeMarked(sql: Sql, companyId: number): Promise<void> {
  await sql.query(
    `UPDATE instances
     SET wanted = CASE WHEN wanted = 'disconnected' THEN 'connected' ELSE wanted END, resume_after_suspension = false
     WHERE company_id = $1 AND resume_after_suspension`,
    [companyId],
  );
}
