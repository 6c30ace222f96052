import type { UsageCounts } from '@posthorn/contract/messaging/usage.ts';
import { requireInstance } from '../access/instance-scope.ts';
import type { Principal } from '../access/principal.ts';
import type { Sql } from '../platform/database/db.ts';
import { oneRow } from '../platform/database/one-row.ts';
import { DAY_MS } from '../platform/durations.ts';
import type { Clock } from '../platform/process/clock.ts';

/** Counts the messages of an instance in the last 24 hours: a sum over at most 1,441 rows (INS-21). */
export async function readUsage(
  deps: { reports: Sql; clock: Clock },
  input: { principal: Principal; instanceId: string },
): Promise<UsageCounts> {
  const { instanceId } = await requireInstance(deps.reports, input.principal, input.instanceId);
  const counted = await deps.reports.query<{
    sent: number;
    received: number;
    delivered: number;
    failed: number;
  }>(
    `SELECT coalesce(sum(sent), 0)::int AS sent, coalesce(sum(received), 0)::int AS received,
            coalesce(sum(delivered), 0)::int AS delivered, coalesce(sum(failed), 0)::int AS failed
     FROM usage_minutes WHERE instance_id = $1 AND minute > $2`,
    [instanceId, new Date(deps.clock.now().getTime() - DAY_MS)],
  );
  const { sent, received, delivered, failed } = oneRow(counted.rows);
  return {
    messages_today: sent + received,
    messages_sent_today: sent,
    messages_received_today: received,
    delivered_today: delivered,
    failed_today: failed,
  };
}
