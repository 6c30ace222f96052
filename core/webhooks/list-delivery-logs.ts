import type { DeliveryLog } from '@posthorn/contract/messaging/webhooks.ts';
import { reachOf } from '../access/company-scope.ts';
import type { Principal } from '../access/principal.ts';
import type { Sql } from '../platform/database/db.ts';
import { oneRow } from '../platform/database/one-row.ts';
import type { Orm } from '../platform/database/orm.ts';
import { offsetOf } from '../platform/database/paging.ts';
import type { Clock } from '../platform/process/clock.ts';
import { deliveryLogView, type LogRow, logsSql } from './delivery-log-view.ts';
import { loadWebhook } from './find-webhook.ts';
import { boundedTotal, COUNTED_MAX } from './report-scope.ts';

/** The attempts of one webhook, newest first. 404 WEBHOOK_NOT_FOUND. */
export async function listDeliveryLogs(
  deps: { orm: Orm; reports: Sql; clock: Clock },
  input: { principal: Principal; webhookId: number; page: number; limit: number },
): Promise<{ data: DeliveryLog[]; total: number; total_capped?: true }> {
  const { id } = await loadWebhook(reachOf(deps.orm, input.principal), input.webhookId);
  // The ids of the page first, from the index alone; bodies are made for those only.
  const [page, counted] = await Promise.all([
    deps.reports.query<LogRow>(
      `WITH page AS MATERIALIZED (
         SELECT id, created_at FROM webhook_delivery_logs WHERE webhook_id = $1
         ORDER BY id DESC LIMIT $2 OFFSET $3)
       ${logsSql({
         from: `FROM page JOIN webhook_delivery_logs l
           ON l.id = page.id AND l.created_at = page.created_at AND l.webhook_id = $1`,
         order: 'DESC',
         now: '$4',
       })}`,
      [id, input.limit, offsetOf(input), deps.clock.now()],
    ),
    deps.reports.query<{ total: number }>(
      `SELECT count(*)::int AS total
       FROM (SELECT 1 FROM webhook_delivery_logs WHERE webhook_id = $1 LIMIT ${COUNTED_MAX}) AS bounded`,
      [id],
    ),
  ]);
  return {
    data: page.rows.map((row) => deliveryLogView(input.principal, row)),
    ...boundedTotal(oneRow(counted.rows).total),
  };
}
