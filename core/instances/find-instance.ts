import { LockMode } from '@mikro-orm/core';
import type { EntityManager } from '@mikro-orm/postgresql';
import { apiError } from '@posthorn/contract/api-error.ts';
import type { Instance as InstanceView } from '@posthorn/contract/messaging/instances.ts';
import { reachOf } from '../access/company-scope.ts';
import type { Principal } from '../access/principal.ts';
import type { Orm } from '../platform/database/orm.ts';
import { type Instance, InstanceSchema } from './entities.ts';
import { instanceView } from './instance-view.ts';

/**
 * The instance within reach of `em`; `lock` needs a transaction. 404 INSTANCE_NOT_FOUND for an unknown and a foreign id alike.
 */
export async function loadInstance(
  em: EntityManager,
  instanceId: string,
  options: { lock?: boolean } = {},
): Promise<Instance> {
  const lockMode = options.lock ? LockMode.PESSIMISTIC_WRITE : undefined;
  const found = await em.findOne(InstanceSchema, { id: instanceId }, { lockMode });
  if (!found) throw apiError('INSTANCE_NOT_FOUND');
  return found;
}

export async function findInstance(
  deps: { orm: Orm },
  input: { principal: Principal; instanceId: string },
): Promise<InstanceView> {
  return instanceView(await loadInstance(reachOf(deps.orm, input.principal), input.instanceId));
}
