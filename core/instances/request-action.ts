import { apiError } from '@posthorn/contract/api-error.ts';
import type { Instance as InstanceView } from '@posthorn/contract/messaging/instances.ts';
import { holdRefusal, readHold } from '../access/company-hold.ts';
import { reachOf } from '../access/company-scope.ts';
import { lockPrincipal } from '../access/lock-principal.ts';
import type { Principal } from '../access/principal.ts';
import type { Bus } from '../platform/broker/bus.ts';
import type { Orm } from '../platform/database/orm.ts';
import type { Clock } from '../platform/process/clock.ts';
import { loadInstance } from './find-instance.ts';
import { instanceView } from './instance-view.ts';
import { ACTIONS, type LifecycleAction } from './transitions.ts';

/**
 * Writes down where the users want an instance and wakes the worker that owns it; the answer comes before
 * the session has moved. Asking twice is asking once, except that each restart is one. To connect an instance whose
 * last try has failed makes the next try at once instead of at its time. 409
 * INVALID_INSTANCE_TRANSITION when the state does not allow it, 403 COMPANY_SUSPENDED to connect while the
 * company or its subscription is suspended, also for a superadmin.
 */
export async function requestAction(
  deps: { orm: Orm; bus: Bus; clock: Clock },
  input: { principal: Principal; instanceId: string; action: LifecycleAction },
): Promise<InstanceView> {
  const rule = ACTIONS[input.action];
  const instance = await reachOf(deps.orm, input.principal).transactional(async (em) => {
    await lockPrincipal(em, input.principal);
    const hold = rule.desired === 'connected' ? await readHold(em, input.instanceId, { lock: true }) : null;
    const row = await loadInstance(em, input.instanceId, { lock: true });
    const held = holdRefusal(hold);
    if (held) throw held;
    if (!rule.from.includes(row.state))
      throw apiError('INVALID_INSTANCE_TRANSITION', {
        message: `an instance in state ${row.state} cannot ${input.action}`,
      });
    const hasFailed = rule.desired === 'connected' && row.state !== 'CONNECTED' && row.lastError !== null;
    if (row.desired !== rule.desired || rule.raisesGeneration || hasFailed) {
      row.desired = rule.desired;
      if (rule.raisesGeneration || hasFailed) row.generation += 1;
      // A second request before the first try has ended asks for the same try.
      if (hasFailed) row.lastError = null;
      row.updatedAt = deps.clock.now();
      await em.flush();
    }
    return row;
  });
  deps.bus.notify('instance', instance.id);
  return instanceView(instance);
}
