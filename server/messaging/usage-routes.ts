import type { usage } from '@posthorn/contract/messaging/usage.ts';
import type { Db } from '@posthorn/core/platform/database/db.ts';
import type { Orm } from '@posthorn/core/platform/database/orm.ts';
import type { Clock } from '@posthorn/core/platform/process/clock.ts';
import { readUsage } from '@posthorn/core/usage/read-usage.ts';
import type { Handlers } from '../http/handler.ts';

/** Counts of an instance's sent and received messages (INS-21). */
export function usageRoutes(deps: { orm: Orm; db: Db; clock: Clock }): Handlers<typeof usage> {
  return {
    get: async ({ principal, params }) => ({
      status: 200,
      body: await readUsage(deps, { principal, ...params }),
    }),
  };
}
