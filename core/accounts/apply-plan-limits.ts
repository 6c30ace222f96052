import type { Clock } from '../platform/clock.ts';
import type { Db, Sql } from '../platform/db.ts';
import { forgetCached } from './forget-cached.ts';

/** What billing tells of a company (its `BillingNews`, read here without importing billing; design 2). */
export interface PlanNews {
  company_id: number;
  /** Grows with each change of a company; older news that come late are dropped. */
  version: number;
  /** Null: the free limits (design 7). */
  limits: {
    max_instances: number;
    max_users: number;
    max_webhooks: number;
    requests_per_minute: number;
    /** Absent in news from before there was one. */
    storage_mb?: number;
  } | null;
  suspended: boolean;
}

/**
 * Lets messaging follow a company's subscription: its limits count from the next request on, in every
 * process, and a suspension disconnects its instances and, once over, connects those again that it had
 * disconnected (spec 3.1). Safe to run twice and in any order. False for news that are older than what is
 * known, or of a company that is gone.
 */
export async function applyPlanLimits(deps: { db: Db; clock: Clock }, news: PlanNews): Promise<boolean> {
  return deps.db.transaction(async (sql) => {
    const now = deps.clock.now();
    const { limits } = news;
    const { rowCount } = await sql.query(
      `UPDATE companies
       SET billing_version = $2, max_instances = $3, max_users = $4, max_webhooks = $5, requests_per_minute = $6, storage_mb = $9,
           billing_suspended_at = CASE WHEN $7 THEN coalesce(billing_suspended_at, $8::timestamptz) END, updated_at = $8
       WHERE id = $1 AND billing_version < $2`,
      [
        news.company_id,
        news.version,
        limits?.max_instances ?? null,
        limits?.max_users ?? null,
        limits?.max_webhooks ?? null,
        limits?.requests_per_minute ?? null,
        news.suspended,
        now,
        limits?.storage_mb ?? null,
      ],
    );
    if (rowCount === 0) return false;
    await (news.suspended ? disconnectAll : resume)(sql, news.company_id, now);
    await forgetCached(sql, `company:${news.company_id}`);
    return true;
  });
}

async function disconnectAll(sql: Sql, companyId: number, now: Date): Promise<void> {
  const { rows } = await sql.query<{ id: string }>(
    `UPDATE instances SET wanted = 'disconnected', resume_after_suspension = true, updated_at = $2
     WHERE company_id = $1 AND wanted = 'connected' RETURNING id`,
    [companyId, now],
  );
  await wake(sql, rows);
}

/** One that was disconnected or logged out by hand meanwhile stays as it is. */
async function resume(sql: Sql, companyId: number, now: Date): Promise<void> {
  const { rows } = await sql.query<{ id: string; resumed: boolean }>(
    `UPDATE instances
     SET wanted = CASE WHEN wanted = 'disconnected' THEN 'connected' ELSE wanted END,
         resume_after_suspension = false, updated_at = $2
     WHERE company_id = $1 AND resume_after_suspension RETURNING id`,
    [companyId, now],
  );
  await wake(sql, rows);
}

async function wake(sql: Sql, instances: { id: string }[]): Promise<void> {
  if (instances.length === 0) return;
  await sql.query(`SELECT pg_notify('instance', id) FROM unnest($1::text[]) AS id`, [
    instances.map((instance) => instance.id),
  ]);
}
