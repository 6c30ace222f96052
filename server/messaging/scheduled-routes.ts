import type { scheduled } from '@posthorn/contract/messaging/scheduled.ts';
import { DatabaseWait } from '@posthorn/core/platform/database/in-time.ts';
import type { Orm } from '@posthorn/core/platform/database/orm.ts';
import { cancelScheduled } from '@posthorn/core/sending/cancel-scheduled.ts';
import { listScheduled } from '@posthorn/core/sending/list-scheduled.ts';
import type { PrepareDeps } from '@posthorn/core/sending/prepare-send.ts';
import { scheduleSend } from '@posthorn/core/sending/schedule-send.ts';
import type { Handlers } from '../http/handler.ts';
import { paged } from '../http/paged.ts';
import { isForced, keyOf, replayHeaders } from './send-handler.ts';

/** Sends at a given time (SND-44, SND-45). */
export function scheduledRoutes(deps: PrepareDeps & { orm: Orm }): Handlers<typeof scheduled> {
  return {
    create: async (input) => {
      const { replayed, ...accepted } = await scheduleSend(deps, {
        principal: input.principal,
        instanceId: input.params.instanceId,
        idempotencyKey: keyOf(input),
        force: isForced(input),
        traceId: input.traceId,
        wait: new DatabaseWait(input.gateMs),
        body: input.body,
      });
      return { status: 202, body: accepted, headers: replayHeaders({ replayed }) };
    },
    list: async ({ principal, params, query }) => {
      return paged(query, await listScheduled(deps, { principal, ...params, ...query }));
    },
    remove: async ({ principal, params }) => {
      await cancelScheduled(deps, { principal, ...params });
      return { status: 204 };
    },
  };
}
