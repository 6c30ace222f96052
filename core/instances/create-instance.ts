import { UniqueConstraintViolationException } from '@mikro-orm/core';
import type { EntityManager } from '@mikro-orm/postgresql';
import { apiError } from '@posthorn/contract/api-error.ts';
import type { Instance as InstanceView } from '@posthorn/contract/messaging/instances.ts';
import { FREE_LIMITS } from '../access/free-limits.ts';
import { lockPrincipal } from '../access/lock-principal.ts';
import type { Principal } from '../access/principal.ts';
import type { Orm } from '../platform/database/orm.ts';
import { newId } from '../platform/ids.ts';
import type { Clock } from '../platform/process/clock.ts';
import { type Instance, InstanceSchema } from './entities.ts';
import { instanceView } from './instance-view.ts';
import { type ProxyRules, takeProxy } from './proxy.ts';
import type { InstanceSettings } from './settings.ts';
import { COUNT_SHARDS, shardOf } from './shard.ts';

/**
 * Creates an instance of the company: 409 DUPLICATE_INSTANCE_NAME (names differ by more than case), 403
 * PLAN_LIMIT_REACHED, 400 BAD_REQUEST for a network that this installation does not have, and as
 * {@link takeProxy}.
 */
export async function createInstance(
  deps: { orm: Orm; clock: Clock; drivers: readonly string[]; proxies: ProxyRules },
  input: {
    principal: Principal;
    name: string;
    driver?: string | undefined;
    proxy?: string | undefined;
    settings?: Partial<InstanceSettings> | undefined;
  },
): Promise<InstanceView> {
  const { companyId } = input.principal;
  const driver = input.driver ?? deps.drivers[0]!;
  if (!deps.drivers.includes(driver))
    throw apiError('BAD_REQUEST', { message: `driver: must be one of ${deps.drivers.join(', ')}` });
  const proxy = takeProxy(deps.proxies, driver, input.proxy ?? null);
  const created = deps.orm.forCompany(companyId).transactional(async (em) => {
    await lockPrincipal(em, input.principal);
    await checkLimit(em, companyId);
    const [shards] = await em.execute<{ shards: number }[]>(COUNT_SHARDS);
    const now = deps.clock.now();
    const id = newId();
    const instance = em.create(InstanceSchema, {
      id,
      companyId,
      name: input.name,
      driver,
      shard: shardOf(id, shards!.shards),
      state: 'CREATED',
      desired: 'disconnected',
      generation: 0,
      settings: input.settings ?? {},
      ...proxy,
      stateSince: now,
      createdAt: now,
      updatedAt: now,
    });
    em.persist(instance);
    await em.flush();
    return instance;
  });
  return instanceView(await duplicateNamesRefused(created));
}

/** The company's row is locked, so that two creations at the limit cannot both see room for one. */
async function checkLimit(em: EntityManager, companyId: number): Promise<void> {
  const [company] = await em.execute<{ max_instances: number | null }[]>(
    'SELECT max_instances FROM companies WHERE id = ? FOR NO KEY UPDATE',
    [companyId],
  );
  const limit = company?.max_instances ?? FREE_LIMITS.instances;
  if ((await em.count(InstanceSchema, {})) >= limit)
    throw apiError('PLAN_LIMIT_REACHED', { message: `your plan allows ${limit} instances` });
}

export async function duplicateNamesRefused(writing: Promise<Instance>): Promise<Instance> {
  try {
    return await writing;
  } catch (err) {
    if (err instanceof UniqueConstraintViolationException)
      throw apiError('DUPLICATE_INSTANCE_NAME', { cause: err });
    throw err;
  }
}
