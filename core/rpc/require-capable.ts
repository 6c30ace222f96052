import { reachOf } from '../access/company-scope.ts';
import type { InstanceScope } from '../access/instance-scope.ts';
import type { Principal } from '../access/principal.ts';
import { requireAbility } from '../instances/driver-abilities.ts';
import { loadInstance } from '../instances/find-instance.ts';
import type { RpcDeps } from './request-owner.ts';

/**
 * The instance, whose network has the ability `op`. For use cases that judge or look up something else before they ask:
 * what the network does not have is said first. 404 INSTANCE_NOT_FOUND, 501 NOT_IMPLEMENTED.
 */
export async function requireCapable(
  deps: RpcDeps,
  caller: { principal: Principal; instanceId: string },
  op: string,
): Promise<InstanceScope> {
  const instance = await loadInstance(reachOf(deps.orm, caller.principal), caller.instanceId);
  await requireAbility(deps.db, instance.driver, op);
  return { companyId: instance.companyId, instanceId: instance.id };
}
