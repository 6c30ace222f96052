import type { Instance as InstanceView } from '@posthorn/contract/messaging/instances.ts';
import { reachOf } from '../access/company-scope.ts';
import type { Principal } from '../access/principal.ts';
import type { Clock } from '../platform/clock.ts';
import type { Orm } from '../platform/orm.ts';
import { duplicateNamesRefused } from './create-instance.ts';
import { loadInstance } from './find-instance.ts';
import { instanceView } from './instance-view.ts';

/** Gives an instance another name; without one nothing changes. 409 DUPLICATE_INSTANCE_NAME. */
export async function renameInstance(
  deps: { orm: Orm; clock: Clock },
  input: { principal: Principal; instanceId: string; name?: string | undefined },
): Promise<InstanceView> {
  const em = reachOf(deps.orm, input.principal);
  const instance = await loadInstance(em, input.instanceId);
  if (input.name !== undefined && input.name !== instance.name) {
    instance.name = input.name;
    instance.updatedAt = deps.clock.now();
    await duplicateNamesRefused(em.flush().then(() => instance));
  }
  return instanceView(instance);
}
