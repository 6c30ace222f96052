import type { EntityManager } from '@mikro-orm/postgresql';
import type { Orm } from '../platform/database/orm.ts';
import type { Principal } from './principal.ts';

/**
 * The rows that someone may reach by an id in the path: their company's, or every company's for a
 * superadmin (WHK-25, ACC-39: the tenant is then that of the row).
 */
export function reachOf(orm: Orm, principal: Principal): EntityManager {
  return principal.isSuperadmin ? orm.forAllCompanies() : orm.forCompany(principal.companyId);
}
