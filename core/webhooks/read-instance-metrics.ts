import type { InstanceMetrics } from '@posthorn/contract/messaging/deliveries.ts';
import type { Principal } from '../access/principal.ts';
import type { Sql } from '../platform/database/db.ts';
import { oneRow } from '../platform/database/one-row.ts';
import type { Clock } from '../platform/process/clock.ts';
import { instanceCondition, instanceParam, periodStart, reportCompany, successRate } from './report-scope.ts';

/** Attempts of an instance's events in the last hours, and its webhooks, global ones included (WHK-22). */
export async function readInstanceMetrics(
  deps: { reports: Sql; clock: Clock },
  query: { principal: Principal; instanceId: string; hours: number },
): Promise<InstanceMetrics> {
  const instanceId = instanceParam(query.instanceId);
  const { rows } = await deps.reports.query<
    Omit<InstanceMetrics, 'instance_id' | 'period_hours' | 'success_rate'>
  >(METRICS, [reportCompany(query.principal), instanceId, periodStart(query, deps.clock.now())]);
  const counts = oneRow(rows);
  return {
    instance_id: query.instanceId,
    period_hours: query.hours,
    ...counts,
    success_rate: successRate(counts.total, counts.successes),
  };
}

// An unknown or foreign instance has no row in `own`, and all counts are 0.
const METRICS = `
WITH own AS (
  SELECT id, company_id FROM instances WHERE id = $2::uuid AND ($1::int IS NULL OR company_id = $1)
), attempts AS MATERIALIZED (
  SELECT l.id, l.event_id, l.webhook_id, l.success FROM own JOIN webhook_delivery_logs l ON l.company_id = own.company_id
  WHERE l.created_at >= $3 AND ${instanceCondition('$2::uuid')}
), last_failures AS (
  SELECT event_id, webhook_id, max(id) AS id FROM attempts WHERE NOT success GROUP BY event_id, webhook_id
), last_successes AS (
  SELECT event_id, webhook_id, max(id) AS id FROM attempts WHERE success GROUP BY event_id, webhook_id
)
SELECT
  (SELECT count(*)::int FROM attempts) AS total,
  (SELECT count(*)::int FROM attempts WHERE success) AS successes,
  (SELECT count(*)::int FROM attempts WHERE NOT success) AS failures,
  (SELECT count(DISTINCT f.event_id)::int FROM last_failures f LEFT JOIN last_successes s USING (event_id, webhook_id)
   WHERE s.id IS NULL OR s.id < f.id) AS stuck_pending,
  (SELECT count(*)::int FROM own JOIN webhooks w ON w.company_id = own.company_id
   WHERE w.instance_id IS NULL OR w.instance_id = own.id) AS configured_webhooks,
  (SELECT count(*)::int FROM own JOIN webhooks w ON w.company_id = own.company_id
   WHERE w.enabled AND (w.instance_id IS NULL OR w.instance_id = own.id)) AS active_webhooks`;
