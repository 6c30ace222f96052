import type { DeliveryLog } from '@posthorn/contract/messaging/webhooks.ts';
import type { Principal } from '../access/principal.ts';
import type { Sql } from '../platform/database/db.ts';
import { cutPage, shortened } from '../platform/database/paging.ts';
import { isUuid } from '../platform/ids.ts';
import type { Clock } from '../platform/process/clock.ts';
import { deliveryLogView, type LogRow, logsSql } from './delivery-log-view.ts';

/** Attempts of one event: webhooks a plan allows times the tries of each, with room. */
const LOGS_MAX = 1_000;

/**
 * The attempts of one event, oldest first; none for an event that is unknown, and for anybody else's
 * except to a superadmin (WHK-18, WHK-25). A list of large answers ends early and says so (LIM-10).
 */
export async function listEventDeliveries(
  deps: { reports: Sql; clock: Clock },
  input: { principal: Principal; eventId: string },
): Promise<{ logs: DeliveryLog[]; total: number; total_capped?: true }> {
  if (!isUuid(input.eventId)) return { logs: [], total: 0 };
  const { principal } = input;
  const attempts = `SELECT id, created_at, response, webhook_url FROM webhook_delivery_logs
    WHERE event_id = $1 AND ($2::int IS NULL OR company_id = $2) ORDER BY id LIMIT ${LOGS_MAX + 1}`;
  const found = await deps.reports.query<LogRow & { listed: number }>(
    `WITH page AS MATERIALIZED (
       SELECT id, created_at, listed
       FROM ${shortened(attempts, 'octet_length(response) + octet_length(webhook_url)', 'id')} AS attempts
     )
     ${logsSql({
       from: `FROM page JOIN webhook_delivery_logs l
         ON l.event_id = $1 AND l.id = page.id AND l.created_at = page.created_at`,
       columns: ', page.listed',
       order: 'ASC',
       now: '$3',
     })}`,
    [input.eventId, principal.isSuperadmin ? null : principal.companyId, deps.clock.now()],
  );
  const { page, last } = cutPage(found.rows, LOGS_MAX, found.rows[0]?.listed);
  return {
    logs: page.map(({ listed: _, ...row }) => deliveryLogView(principal, row)),
    total: page.length,
    ...(last ? { total_capped: true } : {}),
  };
}
