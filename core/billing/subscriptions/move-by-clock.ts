import type { BillingDeps } from '../deps.ts';
import { lockCompany } from '../lock-company.ts';
import { settleSubscription } from './settle-subscription.ts';

/**
 * Moves the subscriptions whose time has come: a trial that ended, a grace period that ran out, a period
 * that closed on a cancelled one (BIL-8, BIL-11). One transaction each, so that one that fails holds up no other; the number
 * moved. Safe to run anywhere, any number of times: the state follows from the facts and the clock.
 */
export async function moveByClock(deps: Pick<BillingDeps, 'db' | 'clock' | 'log'>): Promise<number> {
  const { rows } = await deps.db.query<{ id: number; company_id: number }>(
    `SELECT id, company_id FROM billing.subscriptions WHERE next_move_at <= $1 ORDER BY next_move_at LIMIT 100`,
    [deps.clock.now()],
  );
  let moved = 0;
  for (const { id, company_id } of rows) {
    try {
      await deps.db.transaction(async (sql) => {
        const time = await lockCompany(sql, company_id, deps.clock);
        await settleSubscription(sql, { subscriptionId: id, time });
      });
      moved += 1;
    } catch (err) {
      deps.log.warn({ err, company_id }, 'moving a subscription by the clock failed, trying again later');
    }
  }
  return moved;
}
