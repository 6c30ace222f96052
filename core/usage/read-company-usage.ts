import { USAGE_INSTANCES_MAX } from '@posthorn/contract/limits.ts';
import type { CompanyUsage } from '@posthorn/contract/messaging/usage.ts';
import { FREE_LIMITS } from '../access/free-limits.ts';
import type { Principal } from '../access/principal.ts';
import { MB } from '../media/storage-quota.ts';
import type { Sql } from '../platform/database/db.ts';
import { oneRow } from '../platform/database/one-row.ts';
import { HOUR_MS } from '../platform/durations.ts';
import type { Clock } from '../platform/process/clock.ts';

type Hour = CompanyUsage['hours'][number];
interface PlanRow {
  instances: number;
  max_instances: number;
  users: number;
  max_users: number;
  webhooks: number;
  max_webhooks: number;
  used_bytes: number;
  storage_mb: number;
}

const HOURS = 24;
const SUMS = ['sent', 'received', 'delivered', 'failed']
  .map((what) => `coalesce(sum(u.${what}), 0)::int AS ${what}`)
  .join(', ');

/** The messages of a company by hour and by instance, and how much of its plan it uses (LIM-13). */
export async function readCompanyUsage(
  { reports, clock }: { reports: Sql; clock: Clock },
  { companyId, requestsPerMinute }: Principal,
): Promise<CompanyUsage> {
  const hour = Math.floor(clock.now().getTime() / HOUR_MS);
  const since = new Date((hour - HOURS + 1) * HOUR_MS);
  const [hours, instances, plan] = await Promise.all([
    // By the instances, since the counts have no index by company.
    reports.query<Omit<Hour, 'at'> & { at: Date }>(
      `SELECT date_trunc('hour', u.minute, 'UTC') AS at, ${SUMS}
       FROM instances i JOIN usage_minutes u ON u.instance_id = i.id AND u.minute >= $2
       WHERE i.company_id = $1 GROUP BY 1`,
      [companyId, since],
    ),
    reports.query<CompanyUsage['instances'][number]>(
      `SELECT i.id AS instance_id, i.name, i.state, i.driver, i.phone, ${SUMS}
       FROM (SELECT id, name, state, driver, phone FROM instances WHERE company_id = $1 ORDER BY id DESC LIMIT $3) i
       LEFT JOIN usage_minutes u ON u.instance_id = i.id AND u.minute >= $2
       GROUP BY i.id, i.name, i.state, i.driver, i.phone ORDER BY i.id DESC`,
      [companyId, since, USAGE_INSTANCES_MAX],
    ),
    reports.query<PlanRow>(
      `SELECT (SELECT count(*)::int FROM instances WHERE company_id = c.id) AS instances,
              (SELECT count(*)::int FROM users WHERE company_id = c.id) AS users,
              (SELECT count(*)::int FROM webhooks WHERE company_id = c.id) AS webhooks,
              coalesce((SELECT used_bytes FROM media_usage WHERE company_id = c.id), 0)::float8 AS used_bytes,
              coalesce(c.max_instances, $2) AS max_instances, coalesce(c.max_users, $3) AS max_users,
              coalesce(c.max_webhooks, $4) AS max_webhooks, coalesce(c.storage_mb, $5) AS storage_mb
       FROM companies c WHERE c.id = $1`,
      [companyId, FREE_LIMITS.instances, FREE_LIMITS.users, FREE_LIMITS.webhooks, FREE_LIMITS.storageMb],
    ),
  ]);
  return {
    since: since.toISOString(),
    hours: everyHour(since, hours.rows),
    instances: instances.rows,
    plan: planOf(oneRow(plan.rows), requestsPerMinute),
  };
}

/** Hours in which nothing happened have no row. */
function everyHour(since: Date, rows: readonly (Omit<Hour, 'at'> & { at: Date })[]): Hour[] {
  const byTime = new Map(rows.map(({ at, ...counts }) => [at.getTime(), counts]));
  const nothing = { sent: 0, received: 0, delivered: 0, failed: 0 };
  return Array.from({ length: HOURS }, (_, index) => {
    const at = since.getTime() + index * HOUR_MS;
    return { at: new Date(at).toISOString(), ...(byTime.get(at) ?? nothing) };
  });
}

function planOf(row: PlanRow, requestsPerMinute: number): CompanyUsage['plan'] {
  return {
    instances: { used: row.instances, limit: row.max_instances },
    users: { used: row.users, limit: row.max_users },
    webhooks: { used: row.webhooks, limit: row.max_webhooks },
    storage_bytes: { used: row.used_bytes, limit: row.storage_mb * MB },
    requests_per_minute: requestsPerMinute,
  };
}
