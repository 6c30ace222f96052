import type { BillingDeps } from '../deps.ts';
import { cancelCompany } from './cancel-company.ts';
import { stillChargedSql } from './still-charged.ts';

/** Companies in one round at most. */
const BATCH = 20;

/**
 * Cancels what deleted companies, and erased ones, still pay for: a subscription that was created between the cancellation
 * at the beginning of a deletion and its commit. Returns the number of companies; a provider that does not answer is asked
 * again in the next round.
 */
export async function cancelDeleted(
  deps: Pick<BillingDeps, 'db' | 'clock' | 'provider' | 'log'>,
): Promise<number> {
  const { rows } = await deps.db.query<{ company_id: number }>(
    `SELECT DISTINCT subscription.company_id FROM billing.subscriptions subscription
     LEFT JOIN public.companies company ON company.id = subscription.company_id
     WHERE (company.id IS NULL OR company.status = 'deleted') AND ${stillChargedSql('subscription')}
     ORDER BY 1 LIMIT ${BATCH}`,
  );
  let freed = 0;
  for (const { company_id } of rows) {
    try {
      if ((await cancelCompany(deps, { companyId: company_id })) > 0) freed += 1;
    } catch (err) {
      deps.log.warn({ err, company_id }, 'cancelling for a deleted company failed, trying again later');
    }
  }
  return freed;
}
