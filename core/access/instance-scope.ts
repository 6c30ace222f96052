import type { EntityManager } from '@mikro-orm/postgresql';
import { apiError } from '@posthorn/contract/api-error.ts';
import type { Sql } from '../platform/database/db.ts';
import { readRows } from '../platform/database/read-rows.ts';
import { isUuid } from '../platform/ids.ts';
import type { Principal } from './principal.ts';

/** An instance and the company it belongs to. */
export interface InstanceScope {
  companyId: number;
  instanceId: string;
}

type Caller = Pick<Principal, 'companyId' | 'isSuperadmin'>;

/** Whether the caller may use what belongs to this company: their own, or any for a superadmin (ACC-39). */
export function mayReach(caller: Caller, companyId: number): boolean {
  return companyId === caller.companyId || caller.isSuperadmin;
}

/** The instance within the caller's reach; null for an unknown and for a foreign id alike. */
export async function findInstanceScope(
  sql: Sql | EntityManager,
  caller: Caller,
  instanceId: string,
): Promise<InstanceScope | null> {
  if (!isUuid(instanceId)) return null;
  const [row] = await readRows<{ id: string; company_id: number }>(
    sql,
    'SELECT id, company_id FROM instances WHERE id = $1',
    [instanceId],
  );
  if (!row || !mayReach(caller, row.company_id)) return null;
  return { companyId: row.company_id, instanceId: row.id };
}

/** As {@link findInstanceScope}. Throws 404 INSTANCE_NOT_FOUND. */
export async function requireInstance(
  sql: Sql | EntityManager,
  caller: Caller,
  instanceId: string,
): Promise<InstanceScope> {
  const scope = await findInstanceScope(sql, caller, instanceId);
  if (!scope) throw apiError('INSTANCE_NOT_FOUND');
  return scope;
}
