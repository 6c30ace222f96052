import type { EntityManager } from '@mikro-orm/postgresql';
import { type ApiError, apiError } from '@posthorn/contract/api-error.ts';
import type { Sql } from '../platform/db.ts';

/**
 * Why the instances of a company may hold no session, whatever they were told to do: the company is suspended
 * or deleted, or its subscription is suspended. What its users asked for stays in `instances.wanted`, so
 * that lifting the hold, and only that, brings every session back to where it was.
 */
export type CompanyHold = 'company_suspended' | 'subscription_suspended';

/** SQL of the {@link CompanyHold} of the company row `company`, null when there is none. */
export function holdSql(company: string): string {
  return `CASE WHEN ${company}.status <> 'active' THEN 'company_suspended'
               WHEN ${company}.billing_suspended_at IS NOT NULL THEN 'subscription_suspended' END`;
}

/** What a request hears that a hold stands against; undefined for no hold. */
export function holdRefusal(hold: CompanyHold | null): ApiError | undefined {
  if (hold === null) return undefined;
  if (hold === 'company_suspended') return apiError('COMPANY_SUSPENDED');
  return apiError('COMPANY_SUSPENDED', {
    message: 'the subscription is suspended: pay what is due first',
  });
}

/**
 * The hold on the company of an instance; null also for an unknown instance. `lock` holds the company's row, to
 * be done before the instance's: a hold that is being written is waited for, and none passes by an instance
 * that is just being connected.
 */
export async function readHold(
  em: EntityManager,
  instanceId: string,
  options: { lock?: boolean } = {},
): Promise<CompanyHold | null> {
  const [company] = await em.execute<{ hold: CompanyHold | null }[]>(
    `SELECT ${holdSql('company')} AS hold
     FROM companies company JOIN instances instance ON instance.company_id = company.id
     WHERE instance.id = ? ${options.lock ? 'FOR SHARE OF company' : ''}`,
    [instanceId],
  );
  return company?.hold ?? null;
}

/**
 * Tells the owners of a company's instances that a hold was written or lifted: they look at the rows again.
 * Codes that were asked for and not typed are void. Belongs into the transaction of the change.
 */
export async function tellHoldChanged(sql: Sql, companyId: number): Promise<void> {
  await sql.query('DELETE FROM instance_pairings WHERE company_id = $1', [companyId]);
  await sql.query(
    `SELECT pg_notify('instance', id::text) FROM instances WHERE company_id = $1 AND wanted <> 'disconnected'`,
    [companyId],
  );
}
