import { apiError } from '@posthorn/contract/api-error.ts';
import type { BillingDeps } from '../deps.ts';
import { lockCompany } from '../lock-company.ts';
import { dropTask, queueTask } from '../provider/provider-tasks.ts';
import { settleSubscription } from './settle-subscription.ts';
import { stillChargedSql } from './still-charged.ts';

type CancelDeps = Pick<BillingDeps, 'db' | 'clock' | 'provider'>;

/**
 * Cancels, at the provider and here, whatever a company still pays for: for the deletion of its account
 * (BIL-21). The provider comes first: when it cannot be asked or its answer is lost this throws 503
 * SERVICE_UNAVAILABLE with nothing changed here, and what it did nevertheless is found out by a task. Gives
 * the number of subscriptions cancelled; asking again is safe.
 */
export async function cancelCompany(deps: CancelDeps, input: { companyId: number }): Promise<number> {
  const { companyId } = input;
  const live = await begin(deps, companyId);
  for (const { asaas_subscription_id } of live) {
    try {
      await deps.provider.deleteSubscription(asaas_subscription_id);
    } catch (cause) {
      throw apiError('SERVICE_UNAVAILABLE', { cause, headers: { 'retry-after': '5' } });
    }
  }
  return deps.db.transaction(async (sql) => {
    const time = await lockCompany(sql, companyId, deps.clock);
    for (const { id } of live) {
      await sql.query(
        `UPDATE billing.subscriptions
         SET cancel_reason = coalesce(cancel_reason, 'account_deleted'), updated_at = $2,
             cancelled_at = $2, cancelled_seq = nextval('billing.fact_seq'), ended_by_clock_at = NULL
         WHERE id = $1`,
        [id, time.now],
      );
      await settleSubscription(sql, { subscriptionId: id, time });
      // The provider has done it.
      await dropTask(sql, { kind: 'end_subscription', subjectId: id });
    }
    return live.length;
  });
}

/** The task looks a minute later: on a success it finds all done. */
const CHECK_AFTER_MS = 60_000;

async function begin(
  deps: CancelDeps,
  companyId: number,
): Promise<{ id: number; asaas_subscription_id: string }[]> {
  return deps.db.transaction(async (sql) => {
    await lockCompany(sql, companyId, deps.clock);
    // A creation in progress must not succeed after this.
    await sql.query(
      `UPDATE billing.provider_intents SET state = 'undo', next_attempt_at = $2
       WHERE company_id = $1 AND kind = 'subscription' AND state = 'started'`,
      [companyId, deps.clock.now()],
    );
    const { rows } = await sql.query<{ id: number; asaas_subscription_id: string }>(
      `SELECT id, asaas_subscription_id FROM billing.subscriptions
       WHERE company_id = $1 AND ${stillChargedSql('subscriptions')} ORDER BY id`,
      [companyId],
    );
    const at = new Date(deps.clock.now().getTime() + CHECK_AFTER_MS);
    for (const { id } of rows)
      await queueTask(sql, { kind: 'check_subscription', companyId, subjectId: id, at });
    return rows;
  });
}
