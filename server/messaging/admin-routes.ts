import type { admin } from '@posthorn/contract/messaging/admin.ts';
import { listCompanies } from '@posthorn/core/accounts/company/list-companies.ts';
import { setCompanyStatus } from '@posthorn/core/accounts/company/set-company-status.ts';
import type { AccountDeps } from '@posthorn/core/accounts/deps.ts';
import type { Handlers } from '../http/handler.ts';
import { paged } from '../http/paged.ts';

export type AdminRoutesDeps = Pick<AccountDeps, 'db' | 'clock' | 'forget'>;

/** The platform's own view of its companies (ACC-43). */
export function adminRoutes(deps: AdminRoutesDeps): Handlers<typeof admin> {
  return {
    async listCompanies({ query }) {
      return paged(query, await listCompanies(deps, query));
    },
    async suspendCompany({ principal, params, traceId }) {
      const companyId = Number(params.companyId);
      const body = await setCompanyStatus(deps, { companyId, status: 'suspended', by: principal, traceId });
      return { status: 200, body };
    },
    async reactivateCompany({ principal, params, traceId }) {
      const companyId = Number(params.companyId);
      const body = await setCompanyStatus(deps, { companyId, status: 'active', by: principal, traceId });
      return { status: 200, body };
    },
  };
}
