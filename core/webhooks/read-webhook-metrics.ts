import type { WebhookMetrics } from '@posthorn/contract/messaging/deliveries.ts';
import type { Principal } from '../access/principal.ts';
import type { Sql } from '../platform/database/db.ts';
import { HOUR_MS } from '../platform/durations.ts';
import type { Clock } from '../platform/process/clock.ts';
import { addressFor, periodStart, reportCompany, successRate } from './report-scope.ts';

/**
 * Attempts by webhook in the last hours; webhooks without any are listed with zeros. One webhook that is asked for comes
 * with its counts by hour (WHK-23).
 */
export async function readWebhookMetrics(
  deps: { reports: Sql; clock: Clock },
  query: { principal: Principal; hours: number; webhookId?: number | undefined },
): Promise<WebhookMetrics[]> {
  const now = deps.clock.now();
  const since = periodStart(query, now);
  const { rows } = await deps.reports.query<Omit<WebhookMetrics, 'success_rate'>>(METRICS, [
    reportCompany(query.principal),
    since,
    query.webhookId ?? null,
  ]);
  const hours =
    query.webhookId && rows.length > 0 ? await byHour(deps.reports, query.webhookId, since, now) : null;
  return rows.map((row) => ({
    ...row,
    url: addressFor(query.principal, row.url),
    success_rate: successRate(row.total, row.successes),
    ...(hours && { by_hour: hours }),
  }));
}

type Hour = NonNullable<WebhookMetrics['by_hour']>[number];

/** The hours that the period touches: the first and the last one in part. Those without attempts have no row. */
async function byHour(reports: Sql, webhookId: number, since: Date, now: Date): Promise<Hour[]> {
  const { rows } = await reports.query<Omit<Hour, 'at'> & { at: Date }>(BY_HOUR, [webhookId, since]);
  const known = new Map(rows.map(({ at, ...counts }) => [at.getTime(), counts]));
  const first = Math.floor(since.getTime() / HOUR_MS);
  const length = Math.floor(now.getTime() / HOUR_MS) - first + 1;
  return Array.from({ length }, (_, index) => {
    const at = (first + index) * HOUR_MS;
    return { at: new Date(at).toISOString(), ...(known.get(at) ?? { successes: 0, failures: 0 }) };
  });
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
  WHERE created_at >= $2 AND ($1::int IS NULL OR company_id = $1) AND ($3::int IS NULL OR webhook_id = $3)
  GROUP BY webhook_id
) l ON l.webhook_id = w.id
WHERE ($1::int IS NULL OR w.company_id = $1) AND ($3::int IS NULL OR w.id = $3)
ORDER BY w.id`;

// By company, since the logs have their index so.
const BY_HOUR = `
SELECT date_trunc('hour', l.created_at, 'UTC') AS at, (count(*) FILTER (WHERE l.success))::int AS successes,
  (count(*) FILTER (WHERE NOT l.success))::int AS failures
FROM webhooks w
JOIN webhook_delivery_logs l ON l.company_id = w.company_id AND l.webhook_id = w.id AND l.created_at >= $2
WHERE w.id = $1
GROUP BY 1`;
