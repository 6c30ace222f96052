import type { usage } from '@posthorn/contract/messaging/usage.ts';
import type { Sql } from '@posthorn/core/platform/database/db.ts';
import type { Clock } from '@posthorn/core/platform/process/clock.ts';
import { readCompanyUsage } from '@posthorn/core/usage/read-company-usage.ts';
import { readUsage } from '@posthorn/core/usage/read-usage.ts';
import type { Handlers } from '../http/handler.ts';

/** Counts of sent and received messages (INS-21), and of what a plan limits (LIM-13). */
export function usageRoutes(deps: { reports: Sql; clock: Clock }): Handlers<typeof usage> {
  return {
    company: async ({ principal }) => ({ status: 200, body: await readCompanyUsage(deps, principal) }),
    get: async ({ principal, params }) => ({
      status: 200,
      body: await readUsage(deps, { principal, ...params }),
    }),
  };
}
