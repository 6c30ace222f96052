import { type InstanceScope, requireInstance } from '../access/instance-scope.ts';
import type { Principal } from '../access/principal.ts';
import { requireAbility } from '../instances/driver-abilities.ts';
import type { Ability } from '../network/abilities.ts';
import { oneRow } from '../platform/database/one-row.ts';
import type { RpcDeps } from './request-owner.ts';

/**
 * The instance, whose network has the ability `op`. For use cases that judge or look up something else before they ask:
 * what the network does not have is said first. 404 INSTANCE_NOT_FOUND, 501 NOT_IMPLEMENTED.
 */
export async function requireCapable(
  deps: Pick<RpcDeps, 'db'>,
  caller: { principal: Principal; instanceId: string },
  op: Ability,
): Promise<InstanceScope> {
  const scope = await requireInstance(deps.db, caller.principal, caller.instanceId);
  const found = await deps.db.query<{ driver: string }>('SELECT driver FROM instances WHERE id = $1', [
    scope.instanceId,
  ]);
  await requireAbility(deps.db, oneRow(found.rows).driver, op);
  return scope;
}
