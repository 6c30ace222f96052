import type { EntityManager } from '@mikro-orm/postgresql';
import { type ApiError, apiError } from '@posthorn/contract/api-error.ts';
import type { Sql } from '../platform/database/db.ts';

/**
 * Why the instances of a company may hold no network session, whatever their desired state: the company is
 * suspended or deleted, or its subscription is suspended. The desired state (`instances.wanted`) is kept, so that
 * lifting the hold restores every session.
 */
export type CompanyHold = 'company_suspended' | 'subscription_suspended';

/** SQL of the {@link CompanyHold} of the company row `company`, null when there is none. */
export function holdSql(company: string): string {
  return `CASE WHEN ${company}.status <> 'active' THEN 'company_suspended'
               WHEN ${company}.billing_suspended_at IS NOT NULL THEN 'subscription_suspended' END`;
}

/** The error for a request that a hold forbids; undefined when there is no hold. */
export function holdRefusal(hold: CompanyHold | null): ApiError | undefined {
  if (hold === null) return undefined;
  if (hold === 'company_suspended') return apiError('COMPANY_SUSPENDED');
  return apiError('COMPANY_SUSPENDED', {
    message: 'the subscription is suspended: pay what is due first',
  });
}

/**
 * The hold on the company of an instance; null also for an unknown instance. `lock` locks the company's row, which
 * has to happen before the instance's row is locked: it waits for a hold that is being written, so that an instance
 * that is just being connected cannot miss it.
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
 * Notifies the owners of a company's instances that a hold was set or lifted, so that they read the rows again.
 * Pairing codes that were requested and not typed are voided. Must run in the transaction of the change.
 */
export async function tellHoldChanged(sql: Sql, companyId: number): Promise<void> {
  await sql.query('DELETE FROM instance_pairings WHERE company_id = $1', [companyId]);
  await sql.query(
    `SELECT pg_notify('instance', id::text) FROM instances WHERE company_id = $1 AND wanted <> 'disconnected'`,
    [companyId],
  );
}
