import type { EntityManager } from '@mikro-orm/postgresql';
import { apiError } from '@posthorn/contract/api-error.ts';
import type { Instance as InstanceView } from '@posthorn/contract/messaging/instances.ts';
import { reachOf } from '../accounts/company-scope.ts';
import type { Principal } from '../accounts/principal.ts';
import type { Bus } from '../platform/bus.ts';
import type { Clock } from '../platform/clock.ts';
import type { Orm } from '../platform/orm.ts';
import { loadInstance } from './find-instance.ts';
import { instanceView } from './instance-view.ts';
import { ACTIONS, type LifecycleAction } from './transitions.ts';

/**
 * Writes down where the users want an instance and wakes the worker that owns it; the answer comes before
 * the session has moved. Asking twice is asking once, except that each restart is one. 409
 * INVALID_INSTANCE_TRANSITION when the state does not allow it, 403 COMPANY_SUSPENDED to connect while the
 * subscription is suspended (spec 3.1).
 */
export async function requestAction(
  deps: { orm: Orm; bus: Bus; clock: Clock },
  input: { principal: Principal; instanceId: string; action: LifecycleAction },
): Promise<InstanceView> {
  const rule = ACTIONS[input.action];
  const instance = await reachOf(deps.orm, input.principal).transactional(async (em) => {
    const suspended = rule.wanted === 'connected' && (await isSuspended(em, input.instanceId));
    const row = await loadInstance(em, input.instanceId, { lock: true });
    if (suspended)
      throw apiError('COMPANY_SUSPENDED', {
        message: 'the subscription is suspended: pay what is due first',
      });
    if (!rule.from.includes(row.state))
      throw apiError('INVALID_INSTANCE_TRANSITION', {
        message: `an instance in state ${row.state} cannot ${input.action}`,
      });
    if (row.wanted !== rule.wanted || rule.raisesGeneration) {
      row.wanted = rule.wanted;
      if (rule.raisesGeneration) row.generation += 1;
      row.updatedAt = deps.clock.now();
      await em.flush();
    }
    return row;
  });
  deps.bus.notify('instance', instance.id);
  return instanceView(instance);
}

/**
 * Holds the company's row, before the instance's as applyPlanLimits does: a suspension that is being written
 * is waited for, and none passes by an instance that is just being connected.
 */
async function isSuspended(em: EntityManager, instanceId: string): Promise<boolean> {
  const [company] = await em.execute<{ suspended: boolean }[]>(
    `SELECT company.billing_suspended_at IS NOT NULL AS suspended
     FROM companies company JOIN instances instance ON instance.company_id = company.id
     WHERE instance.id = ? FOR SHARE OF company`,
    [instanceId],
  );
  return company?.suspended ?? false;
}
