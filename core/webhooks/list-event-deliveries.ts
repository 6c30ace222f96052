import type { DeliveryLog } from '@posthorn/contract/messaging/webhooks.ts';
import type { Principal } from '../access/principal.ts';
import type { Clock } from '../platform/clock.ts';
import type { Db } from '../platform/db.ts';
import { isUuid } from '../platform/ids.ts';
import { cutPage } from '../platform/paging.ts';
import { deliveryLogView, type LogRow, logColumns } from './delivery-log-view.ts';

/** Attempts of one event: webhooks a plan allows times the tries of each, with room. */
const LOGS_MAX = 1_000;

/**
 * The attempts of one event, oldest first; none for an event that is unknown, and for anybody else's
 * except to a superadmin (WHK-18, WHK-25).
 */
export async function listEventDeliveries(
  deps: { db: Db; clock: Clock },
  input: { principal: Principal; eventId: string },
): Promise<{ logs: DeliveryLog[]; total: number; total_capped?: true }> {
  if (!isUuid(input.eventId)) return { logs: [], total: 0 };
  const { principal } = input;
  const found = await deps.db.query<LogRow>(
    `SELECT ${logColumns('$3')} FROM webhook_delivery_logs l
     WHERE l.event_id = $1 AND ($2::int IS NULL OR l.company_id = $2)
     ORDER BY l.id LIMIT ${LOGS_MAX + 1}`,
    [input.eventId, principal.isSuperadmin ? null : principal.companyId, deps.clock.now()],
  );
  const { page, last } = cutPage(found.rows, LOGS_MAX);
  return { logs: page.map(deliveryLogView), total: page.length, ...(last ? { total_capped: true } : {}) };
}
