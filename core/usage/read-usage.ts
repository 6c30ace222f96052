import type { UsageCounts } from '@posthorn/contract/messaging/usage.ts';
import { reachOf } from '../access/company-scope.ts';
import type { Principal } from '../access/principal.ts';
import { loadInstance } from '../instances/find-instance.ts';
import type { Clock } from '../platform/clock.ts';
import type { Db } from '../platform/db.ts';
import type { Orm } from '../platform/orm.ts';

const DAY_MS = 24 * 3600_000;

/** What an instance sent and received in the last 24 hours: a sum over at most 1,441 rows (INS-21). */
export async function readUsage(
  deps: { orm: Orm; db: Db; clock: Clock },
  input: { principal: Principal; instanceId: string },
): Promise<UsageCounts> {
  const { id } = await loadInstance(reachOf(deps.orm, input.principal), input.instanceId);
  const counted = await deps.db.query<{ sent: number; received: number; delivered: number; failed: number }>(
    `SELECT coalesce(sum(sent), 0)::int AS sent, coalesce(sum(received), 0)::int AS received,
            coalesce(sum(delivered), 0)::int AS delivered, coalesce(sum(failed), 0)::int AS failed
     FROM usage_minutes WHERE instance_id = $1 AND minute > $2`,
    [id, new Date(deps.clock.now().getTime() - DAY_MS)],
  );
  const { sent, received, delivered, failed } = counted.rows[0]!;
  return {
    messages_today: sent + received,
    messages_sent_today: sent,
    messages_received_today: received,
    delivered_today: delivered,
    failed_today: failed,
  };
}
