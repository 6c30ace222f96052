import type { usage } from '@posthorn/contract/messaging/usage.ts';
import type { Clock } from '@posthorn/core/platform/clock.ts';
import type { Db } from '@posthorn/core/platform/db.ts';
import type { Orm } from '@posthorn/core/platform/orm.ts';
import { readUsage } from '@posthorn/core/usage/read-usage.ts';
import type { Handlers } from '../http/handler.ts';

/** What an instance sent and received (INS-21). */
export function usageRoutes(deps: { orm: Orm; db: Db; clock: Clock }): Handlers<typeof usage> {
  return {
    get: async ({ principal, params }) => ({
      status: 200,
      body: await readUsage(deps, { principal, ...params }),
    }),
  };
}
