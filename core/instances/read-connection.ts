import type { Connection } from '@posthorn/contract/messaging/instances.ts';
import { reachOf } from '../access/company-scope.ts';
import type { Principal } from '../access/principal.ts';
import type { Orm } from '../platform/database/orm.ts';
import { InstanceTransitionSchema } from './entities.ts';
import { loadInstance } from './find-instance.ts';

const TRANSITIONS_SHOWN = 20;

/** The state of the connection, since when, and how it came there (INS-7). */
export async function readConnection(
  deps: { orm: Orm },
  input: { principal: Principal; instanceId: string },
): Promise<Connection> {
  const em = reachOf(deps.orm, input.principal);
  const instance = await loadInstance(em, input.instanceId);
  const transitions = await em.find(
    InstanceTransitionSchema,
    { instanceId: instance.id },
    { orderBy: { id: 'desc' }, limit: TRANSITIONS_SHOWN },
  );
  return {
    instance_id: instance.id,
    state: instance.state,
    since: instance.stateSince.toISOString(),
    last_error: instance.lastError ?? null,
    restriction: instance.restriction ?? null,
    moves: transitions.map((transition) => ({
      from: transition.fromState,
      to: transition.toState,
      reason: transition.reason ?? null,
      at: transition.createdAt.toISOString(),
    })),
  };
}
