import { HARD_FAIL_ATTEMPTS } from '@posthorn/contract/limits.ts';
import type { DeliveredEvent, DeliveryStatus } from '@posthorn/contract/messaging/deliveries.ts';
import type { Principal } from '../access/principal.ts';
import type { Sql } from '../platform/database/db.ts';
import { oneRow } from '../platform/database/one-row.ts';
import { offsetOf } from '../platform/database/paging.ts';
import type { Clock } from '../platform/process/clock.ts';
import {
  addressFor,
  boundedTotal,
  COUNTED_MAX,
  companyOfLogs,
  instanceCondition,
  instanceParam,
  payloadSql,
  periodStart,
  reportCompany,
  responseFor,
} from './report-scope.ts';

export interface DeliveredEventsQuery {
  principal: Principal;
  /** Only the events of one instance; undefined: of all. */
  instanceId?: string;
  /** Only the attempts at one webhook. */
  webhookId?: number | undefined;
  status: DeliveryStatus;
  /** Undefined, and no `since`: all that is kept. */
  hours?: number | undefined;
  since?: string | undefined;
  page: number;
  limit: number;
}

/**
 * The events with attempts in a period, one row an event, the latest first. The latest attempt (the
 * highest log id) says how it went; `attempts` is the highest number (WHK-19). Those that are stuck are one row an
 * event and webhook, judged by the attempts at that webhook: what another one answered later hides nothing (WHK-20).
 * With a webhook, its attempts alone say how an event went. Unknown and foreign instances and webhooks have none.
 */
export async function listDeliveredEvents(
  deps: { reports: Sql; clock: Clock },
  query: DeliveredEventsQuery,
): Promise<{ data: DeliveredEvent[]; total: number; total_capped?: true }> {
  const instanceId = query.instanceId === undefined ? null : instanceParam(query.instanceId);
  if (query.instanceId !== undefined && instanceId === null) return { data: [], total: 0 };
  const now = deps.clock.now();
  const scope = [
    reportCompany(query.principal),
    periodStart(query, now),
    instanceId,
    query.webhookId ?? null,
  ];
  const latest = latestSql(query.status, {
    company: companyOfLogs(reportCompany(query.principal)),
    byInstance: instanceId !== null,
    byWebhook: query.webhookId !== undefined,
  });
  const offset = offsetOf(query);
  const [rows, counted] = await Promise.all([
    deps.reports.query<Row>(`${PAGE_HEAD} (${latest('$6')}) l ${PAGE_TAIL}`, [
      ...scope,
      now,
      offset + query.limit,
      offset,
      query.limit,
    ]),
    deps.reports.query<{ total: number }>(
      `SELECT count(*)::int AS total FROM (SELECT 1 FROM (${latest('$5')}) l LIMIT $5) AS bounded`,
      [...scope, COUNTED_MAX],
    ),
  ]);
  return {
    data: rows.rows.map((row) => ({
      ...row,
      response: responseFor(query.principal, row),
      webhook_url: addressFor(query.principal, row.webhook_url),
      created_at: row.created_at.toISOString(),
    })),
    ...boundedTotal(oneRow(counted.rows).total),
  };
}

type Row = Omit<DeliveredEvent, 'created_at'> & { created_at: Date };

const HARD = `l.attempt >= ${HARD_FAIL_ATTEMPTS} AND l.error_class IN ('permanent_4xx', 'payload_rejected')`;

const STATUS: Record<DeliveryStatus, string> = {
  all: 'true',
  success: 'l.success',
  failure: 'NOT l.success',
  stuck: `l.error_class IN ('permanent_4xx', 'payload_rejected')
    AND (l.attempt >= ${HARD_FAIL_ATTEMPTS} OR ATTEMPTS >= ${HARD_FAIL_ATTEMPTS})`,
};

/**
 * Latest attempts, newest first, as a statement with at most `limit` rows a company. It walks the company's
 * logs from the newest and keeps those without a later one of the same row, so a page costs what
 * stands on it, where grouping would read the whole period first. By company, since that is the
 * order of the index; for a superadmin every company gives its newest.
 */
function latestSql(
  status: DeliveryStatus,
  { company, byInstance, byWebhook }: { company: string; byInstance: boolean; byWebhook: boolean },
): (limit: string) => string {
  const inScope = (alias: string) =>
    [
      `${alias}.company_id = ${company} AND ${alias}.created_at >= $2`,
      byInstance ? instanceCondition('$3::uuid').replaceAll('l.', `${alias}.`) : '$3::uuid IS NULL',
      byWebhook ? `${alias}.webhook_id = $4::bigint` : '$4::bigint IS NULL',
    ].join(' AND ');
  const sameRow = (alias: string) =>
    `${alias}.event_id = l.event_id${status === 'stuck' ? ` AND ${alias}.webhook_id = l.webhook_id` : ''}`;
  const attempts = `(SELECT max(a.attempt) FROM webhook_delivery_logs a
    WHERE ${sameRow('a')} AND ${inScope('a')})`;
  return (limit) => `
    SELECT l.*, ${attempts} AS attempts FROM companies c CROSS JOIN LATERAL (
      SELECT * FROM webhook_delivery_logs l
      WHERE ${inScope('l')} AND ${STATUS[status].replace('ATTEMPTS', attempts)}
        AND NOT EXISTS (SELECT 1 FROM webhook_delivery_logs n
          WHERE ${sameRow('n')} AND n.id > l.id AND ${inScope('n')})
      ORDER BY l.id DESC LIMIT ${limit}) l
    WHERE $1::int IS NULL OR c.id = $1`;
}

const PAGE_HEAD = `
SELECT l.id AS log_id, l.webhook_id, l.webhook_url, l.event_id, l.event_type,
  coalesce(l.status_code, 0) AS status_code, l.response, l.attempts, l.success, l.error_class,
  (${HARD.replace('l.attempt', 'l.attempts')}) AS is_hard_failed,
  p.body IS NOT NULL AS has_payload_raw, coalesce(octet_length(p.body), 0) AS payload_raw_size,
  p.body IS NOT NULL AS payload_raw_json_valid, l.created_at
FROM (SELECT * FROM`;

const PAGE_TAIL = `
  ORDER BY l.id DESC OFFSET $7 LIMIT $8) l
CROSS JOIN LATERAL (SELECT ${payloadSql('$5')} AS body) p
ORDER BY l.id DESC`;
