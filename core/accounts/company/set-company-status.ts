import { apiError } from '@posthorn/contract/api-error.ts';
import type { CompanyDto } from '@posthorn/contract/messaging/admin.ts';
import { tellHoldChanged } from '../../access/company-hold.ts';
import { forgetCached } from '../../access/forget-cached.ts';
import { PLATFORM_COMPANY_ID } from '../../access/superadmin.ts';
import { recordAudit } from '../../audit/record-audit.ts';
import { companyNotification } from '../../webhooks/notifications.ts';
import type { AccountDeps } from '../deps.ts';
import { readCompany } from './list-companies.ts';

/**
 * Suspends or reactivates a company. Its JWTs and keys are refused, or accepted again, at once in every process.
 * While it is suspended, its instances hold no session (nothing is sent or received), nothing is delivered to its
 * webhooks, and queued messages wait. After reactivation everything continues. No change is no error. Throws 404
 * COMPANY_NOT_FOUND; 409 ACCOUNT_ALREADY_DELETED, and CONFLICT for the platform's own company.
 */
export async function setCompanyStatus(
  deps: Pick<AccountDeps, 'db' | 'clock' | 'forget'>,
  input: {
    companyId: number;
    status: 'active' | 'suspended';
    by: { userId: number };
    traceId: string | null;
  },
): Promise<CompanyDto> {
  const { companyId, status } = input;
  if (companyId === PLATFORM_COMPANY_ID && status === 'suspended')
    throw apiError('CONFLICT', { message: 'the platform itself cannot be suspended' });
  const company = await deps.db.transaction(async (sql) => {
    const { rows } = await sql.query<{ status: string }>(
      'SELECT status FROM companies WHERE id = $1 FOR UPDATE',
      [companyId],
    );
    if (!rows[0]) throw apiError('COMPANY_NOT_FOUND');
    if (rows[0].status === 'deleted') throw apiError('ACCOUNT_ALREADY_DELETED');
    if (rows[0].status !== status) {
      const at = deps.clock.now();
      await sql.query('UPDATE companies SET status = $2, updated_at = $3 WHERE id = $1', [
        companyId,
        status,
        at,
      ]);
      await forgetCached(sql, `company:${companyId}`);
      await tellHoldChanged(sql, companyId);
      await sql.query(`SELECT pg_notify('deliveries', $1)`, [companyNotification(companyId)]);
      await recordAudit(sql, {
        companyId,
        userId: input.by.userId,
        action: status === 'active' ? 'company.reactivated' : 'company.suspended',
        traceId: input.traceId,
        at,
      });
    }
    const read = await readCompany(sql, companyId);
    if (!read) throw apiError('COMPANY_NOT_FOUND');
    return read;
  });
  deps.forget(`company:${companyId}`);
  return company;
}
