import type { WebhookMetrics } from '@posthorn/contract/messaging/deliveries.ts';
import type { Principal } from '../access/principal.ts';
import type { Db } from '../platform/database/db.ts';
import type { Clock } from '../platform/process/clock.ts';
import { addressFor, periodStart, reportCompany, successRate } from './report-scope.ts';

/** Attempts by webhook in the last hours; webhooks without any are listed with zeros (WHK-23). */
export async function readWebhookMetrics(
  deps: { db: Db; clock: Clock },
  query: { principal: Principal; hours: number },
): Promise<WebhookMetrics[]> {
  const { rows } = await deps.db.query<Omit<WebhookMetrics, 'success_rate'>>(METRICS, [
    reportCompany(query.principal),
    periodStart(query, deps.clock.now()),
  ]);
  return rows.map((row) => ({
    ...row,
    url: addressFor(query.principal, row.url),
    success_rate: successRate(row.total, row.successes),
  }));
}

const METRICS = `
SELECT w.id AS webhook_id, w.url, w.company_id, c.name AS company_name, w.instance_id, i.name AS instance_name,
  coalesce(l.total, 0) AS total, coalesce(l.successes, 0) AS successes,
  coalesce(l.total - l.successes, 0) AS failures
FROM webhooks w
JOIN companies c ON c.id = w.company_id
LEFT JOIN instances i ON i.id = w.instance_id
LEFT JOIN (
  SELECT webhook_id, count(*)::int AS total, (count(*) FILTER (WHERE success))::int AS successes
  FROM webhook_delivery_logs
  WHERE created_at >= $2 AND ($1::int IS NULL OR company_id = $1)
  GROUP BY webhook_id
) l ON l.webhook_id = w.id
WHERE $1::int IS NULL OR w.company_id = $1
ORDER BY w.id`;
