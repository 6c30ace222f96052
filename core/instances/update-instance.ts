import type { Instance as InstanceView } from '@posthorn/contract/messaging/instances.ts';
import { reachOf } from '../access/company-scope.ts';
import { lockPrincipal } from '../access/lock-principal.ts';
import type { Principal } from '../access/principal.ts';
import type { Bus } from '../platform/broker/bus.ts';
import type { Orm } from '../platform/database/orm.ts';
import type { Clock } from '../platform/process/clock.ts';
import { duplicateNamesRefused } from './create-instance.ts';
import { loadInstance } from './find-instance.ts';
import { instanceView } from './instance-view.ts';
import { type ProxyRules, takeProxy } from './proxy.ts';

/**
 * Gives an instance another name or another way out; what is not given stays. With another way out its session is
 * opened anew. 409 DUPLICATE_INSTANCE_NAME, and as `takeProxy`.
 */
export async function updateInstance(
  deps: { orm: Orm; clock: Clock; bus: Bus; proxies: ProxyRules },
  input: {
    principal: Principal;
    instanceId: string;
    name?: string | undefined;
    proxy?: string | null | undefined;
  },
): Promise<InstanceView> {
  const changed = reachOf(deps.orm, input.principal).transactional(async (em) => {
    await lockPrincipal(em, input.principal);
    // Locked: a restart that comes at the same time counts as well.
    const instance = await loadInstance(em, input.instanceId, { lock: true });
    const renames = input.name !== undefined && input.name !== instance.name;
    const reroutes = input.proxy !== undefined;
    if (renames) instance.name = input.name!;
    if (reroutes) {
      Object.assign(instance, takeProxy(deps.proxies, instance.driver, input.proxy ?? null));
      instance.generation += 1;
    }
    if (renames || reroutes) instance.updatedAt = deps.clock.now();
    await em.flush();
    return instance;
  });
  const instance = await duplicateNamesRefused(changed);
  if (input.proxy !== undefined) deps.bus.notify('instance', instance.id);
  return instanceView(instance);
}
