import type { Instance as InstanceView } from '@posthorn/contract/messaging/instances.ts';
import type { Orm } from '../platform/database/orm.ts';
import { offsetOf } from '../platform/database/paging.ts';
import { InstanceSchema } from './entities.ts';
import { instanceView } from './instance-view.ts';
import type { InstanceState } from './transitions.ts';

/**
 * The instances of a company, newest first (their ids are time-ordered). An offset serves here: a plan
 * bounds how many there are.
 */
export async function listInstances(
  deps: { orm: Orm },
  input: { companyId: number; page: number; limit: number; state?: InstanceState | undefined },
): Promise<{ data: InstanceView[]; total: number }> {
  const [found, total] = await deps.orm
    .forCompany(input.companyId)
    .findAndCount(InstanceSchema, input.state ? { state: input.state } : {}, {
      orderBy: { id: 'desc' },
      limit: input.limit,
      offset: offsetOf(input),
    });
  return { data: found.map(instanceView), total };
}
