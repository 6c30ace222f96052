import type { audit } from '@posthorn/contract/messaging/audit.ts';
import { listAudit } from '@posthorn/core/audit/list-audit.ts';
import type { Orm } from '@posthorn/core/platform/database/orm.ts';
import type { Handlers } from '../http/handler.ts';

/** The security-relevant events of the company. */
export function auditRoutes(deps: { orm: Orm }): Handlers<typeof audit> {
  return {
    async list({ principal, query }) {
      const { data, nextBefore } = await listAudit(deps, { companyId: principal.companyId, ...query });
      return { status: 200, body: { data, next_before: nextBefore } };
    },
  };
}
