import type { admin } from '@posthorn/contract/messaging/admin.ts';
import { listCompanies } from '@posthorn/core/accounts/company/list-companies.ts';
import { setCompanyStatus } from '@posthorn/core/accounts/company/set-company-status.ts';
import type { AccountDeps } from '@posthorn/core/accounts/deps.ts';
import { listAllInstances } from '@posthorn/core/instances/list-all-instances.ts';
import { checkAddresses, type ReputationSettings } from '@posthorn/core/reputation/check-addresses.ts';
import type { Handlers } from '../http/handler.ts';
import { paged } from '../http/paged.ts';

export interface AdminRoutesDeps extends Pick<AccountDeps, 'db' | 'clock' | 'forget'> {
  reputation: ReputationSettings;
}

/** The platform's view of its companies (ACC-43), their instances and its addresses (CHT-12). */
export function adminRoutes(deps: AdminRoutesDeps): Handlers<typeof admin> {
  return {
    async listCompanies({ query }) {
      return paged(query, await listCompanies(deps, query));
    },
    async listInstances({ query }) {
      return { status: 200, body: await listAllInstances(deps, query) };
    },
    async ipReputation({ principal, query }) {
      const results = await checkAddresses(deps, { userId: principal.userId, ip: query.ip });
      return { status: 200, body: { results } };
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
