import { apiError } from '@posthorn/contract/api-error.ts';
import { requireInstance } from '../access/instance-scope.ts';
import type { Principal } from '../access/principal.ts';
import type { Db } from '../platform/database/db.ts';
import { isUuid } from '../platform/ids.ts';
import type { Clock } from '../platform/process/clock.ts';
import { scheduleKeyId } from './schedule-send.ts';

/**
 * Cancels a scheduled send. The row's status decides who was first, this or the claim: 409 CONFLICT once it
 * is claimed; 404 NOT_FOUND, INSTANCE_NOT_FOUND. Cancelling twice is fine.
 */
export async function cancelScheduled(
  deps: { db: Db; clock: Clock },
  input: { principal: Principal; instanceId: string; scheduledId: string },
): Promise<void> {
  const { instanceId } = await requireInstance(deps.db, input.principal, input.instanceId);
  const missing = apiError('NOT_FOUND', { message: 'scheduled send not found' });
  if (!isUuid(input.scheduledId)) throw missing;
  const now = deps.clock.now();
  const cancelled = await deps.db.query<{ idempotency_key: string }>(
    `UPDATE scheduled_sends SET status = 'cancelled', finished_at = coalesce(finished_at, $3)
     WHERE id = $1 AND instance_id = $2 AND status IN ('scheduled', 'cancelled') RETURNING idempotency_key`,
    [input.scheduledId, instanceId, now],
  );
  const [row] = cancelled.rows;
  if (row) {
    // Its key counts from now, no longer from the time of the send.
    await deps.db.query(
      'UPDATE idempotency_keys SET created_at = $3 WHERE id = $1 AND message_id = $2 AND created_at > $3',
      [scheduleKeyId(instanceId, row.idempotency_key), input.scheduledId, now],
    );
    return;
  }
  const there = await deps.db.query('SELECT 1 FROM scheduled_sends WHERE id = $1 AND instance_id = $2', [
    input.scheduledId,
    instanceId,
  ]);
  throw there.rows.length > 0
    ? apiError('CONFLICT', { message: 'the send has already begun or ended' })
    : missing;
}
