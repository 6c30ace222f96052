import { apiError } from '@posthorn/contract/api-error.ts';
import { SIMULATED_CLOCK_MAX_S } from '@posthorn/contract/limits.ts';
import type { Db } from '../../../platform/database/db.ts';
import type { Clock } from '../../../platform/process/clock.ts';
import { wakeBillingWorker } from '../../billing-bus.ts';
import { lockCompany } from '../../lock-company.ts';
import { settleSubscription } from '../../subscriptions/settle-subscription.ts';

/**
 * Moves a company's billing clock forward, and the provider's for its customer with it: trials end, grace
 * periods run out. For this company alone, so that people can play in one installation side by side: each month makes charges
 * and webhooks that those of the others wait behind, so the clock is ten years ahead at most. Throws 409 CONFLICT.
 */
export async function advanceClock(
  deps: { db: Db; clock: Clock },
  input: { companyId: number; seconds: number },
): Promise<{ now: Date; offsetSeconds: number }> {
  const { companyId } = input;
  return deps.db.transaction(async (sql) => {
    const { offsetMs } = await lockCompany(sql, companyId, deps.clock);
    if (offsetMs + input.seconds * 1000 > SIMULATED_CLOCK_MAX_S * 1000)
      throw apiError('CONFLICT', { message: 'the clock can be ten years ahead at most' });
    await sql.query(
      'UPDATE billing.accounts SET clock_offset_ms = clock_offset_ms + $2 WHERE company_id = $1',
      [companyId, input.seconds * 1000],
    );
    // A task that was due in three days' time is due three days earlier.
    await sql.query(
      `UPDATE billing.provider_tasks SET next_attempt_at = next_attempt_at - $2 * interval '1 second' WHERE company_id = $1`,
      [companyId, input.seconds],
    );
    const time = await lockCompany(sql, companyId, deps.clock);
    const { rows } = await sql.query<{ id: number }>(
      'SELECT id FROM billing.subscriptions WHERE company_id = $1 ORDER BY id DESC LIMIT 1',
      [companyId],
    );
    if (rows[0]) await settleSubscription(sql, { subscriptionId: rows[0].id, time });
    await wakeBillingWorker(sql, 'webhooks');
    await wakeBillingWorker(sql, 'tasks');
    return { now: time.now, offsetSeconds: Math.round(time.offsetMs / 1000) };
  });
}
