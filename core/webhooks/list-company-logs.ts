import type { CompanyDeliveryLog } from '@posthorn/contract/messaging/deliveries.ts';
import type { DeliveryLog } from '@posthorn/contract/messaging/webhooks.ts';
import type { Principal } from '../access/principal.ts';
import type { Sql } from '../platform/database/db.ts';
import { oneRow } from '../platform/database/one-row.ts';
import { offsetOf } from '../platform/database/paging.ts';
import type { Clock } from '../platform/process/clock.ts';
import { deliveryLogView, type LogRow, logsSql } from './delivery-log-view.ts';
import {
  boundedTotal,
  COUNTED_MAX,
  companyOfLogs,
  instanceCondition,
  instanceParam,
  periodStart,
  reportCompany,
} from './report-scope.ts';

export interface CompanyLogsQuery {
  principal: Principal;
  success?: boolean | undefined;
  eventType?: string | undefined;
  webhookId?: number | undefined;
  since?: string | undefined;
  page: number;
  limit: number;
}

/**
 * The attempts of a company, newest first, by default of the last 24 hours; a superadmin sees every
 * company's, with its name. A foreign webhook has none (WHK-24).
 */
export async function listCompanyLogs(
  deps: { reports: Sql; clock: Clock },
  query: CompanyLogsQuery,
): Promise<{ data: CompanyDeliveryLog[]; total: number; total_capped?: true }> {
  const companyId = reportCompany(query.principal);
  const now = deps.clock.now();
  const { data, ...total } = await list(deps.reports, {
    principal: query.principal,
    page: query.page,
    limit: query.limit,
    now,
    where: `l.created_at >= $3 AND ($4::boolean IS NULL OR l.success = $4)
      AND ($5::text IS NULL OR l.event_type = $5) AND ($6::bigint IS NULL OR l.webhook_id = $6)`,
    values: [
      periodStart({ hours: 24, since: query.since }, now),
      query.success ?? null,
      query.eventType ?? null,
      query.webhookId ?? null,
    ],
  });
  return {
    ...total,
    data: data.map(({ company_id, company_name, ...log }) =>
      companyId === null
        ? { ...log, company_id, company_name }
        : { ...log, company_id: null, company_name: null },
    ),
  };
}

/** The latest attempts of a company, all or those of one instance's events (WHK-24). */
export async function listLatestLogs(
  deps: { reports: Sql; clock: Clock },
  query: { principal: Principal; instanceId?: string | undefined; page: number; limit: number },
): Promise<{ data: DeliveryLog[]; total: number; total_capped?: true }> {
  const instanceId = query.instanceId === undefined ? null : instanceParam(query.instanceId);
  if (query.instanceId !== undefined && instanceId === null) return { data: [], total: 0 };
  const { data, ...total } = await list(deps.reports, {
    principal: query.principal,
    page: query.page,
    limit: query.limit,
    now: deps.clock.now(),
    where: instanceId === null ? '$3::uuid IS NULL' : instanceCondition('$3::uuid'),
    values: [instanceId],
  });
  return { ...total, data: data.map(({ company_id: _, company_name: __, ...log }) => log) };
}

interface ListQuery {
  principal: Principal;
  page: number;
  limit: number;
  now: Date;
  /** On a log `l`; its parameters begin at $3. */
  where: string;
  values: unknown[];
}

// By company, in the order of the index; ids first, so that bodies are made for those of the page only.
async function list(
  sql: Sql,
  query: ListQuery,
): Promise<{ data: CompanyDeliveryLog[]; total: number; total_capped?: true }> {
  const companyId = reportCompany(query.principal);
  const matching = `
    SELECT l.id, l.created_at, c.id AS company_id, c.name AS company_name
    FROM companies c CROSS JOIN LATERAL (
      SELECT id, created_at FROM webhook_delivery_logs l WHERE l.company_id = ${companyOfLogs(companyId)} AND ${query.where}
      ORDER BY l.id DESC LIMIT $2) l
    WHERE $1::int IS NULL OR c.id = $1`;
  const offset = offsetOf(query);
  const [page, counted] = await Promise.all([
    sql.query<LogRow & { company_id: number; company_name: string }>(
      `WITH page AS MATERIALIZED (
         SELECT * FROM (${matching}) m ORDER BY id DESC OFFSET ${offset} LIMIT ${query.limit})
       ${logsSql({
         from: `FROM page JOIN webhook_delivery_logs l
           ON l.company_id = page.company_id AND l.id = page.id AND l.created_at = page.created_at`,
         columns: ', page.company_id, page.company_name',
         order: 'DESC',
         now: `$${query.values.length + 3}`,
       })}`,
      [companyId, offset + query.limit, ...query.values, query.now],
    ),
    sql.query<{ total: number }>(
      `SELECT count(*)::int AS total FROM (SELECT 1 FROM (${matching}) m LIMIT ${COUNTED_MAX}) AS bounded`,
      [companyId, COUNTED_MAX, ...query.values],
    ),
  ]);
  return {
    ...boundedTotal(oneRow(counted.rows).total),
    data: page.rows.map((row) => ({
      ...deliveryLogView(query.principal, row),
      company_id: row.company_id,
      company_name: row.company_name,
    })),
  };
}
