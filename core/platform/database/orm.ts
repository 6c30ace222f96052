import type { AnyEntity, EntityName, EventArgs, EventSubscriber } from '@mikro-orm/core';
import { type EntityManager, MikroORM, type Options, SqlEntityManager } from '@mikro-orm/postgresql';
import { ClusterClient } from './cluster-client.ts';
import { hostsOf } from './cluster-url.ts';
import { KEEP_ALIVE, limitSettings, QUICK_LIMITS } from './connection-limits.ts';

/** Entities through MikroORM: one fork a request or message, closed to other companies. */
export interface Orm {
  /** A fresh unit of work that sees one company's rows and writes no other's. */
  forCompany(companyId: number): EntityManager;
  /** The explicit way past the tenant filter: superadmin, workers and jobs. */
  forAllCompanies(): EntityManager;
  /** A fork without a company: for shared entities only; a tenant entity throws. */
  fork(): EntityManager;
  close(): Promise<void>;
}

type Entities = NonNullable<Options['entities']>;
type Tenant = { companyId: number } | { allCompanies: true };

const FILTER = 'company';

/**
 * Every entity with a `companyId` is a tenant entity: the filter `company` applies to it and throws when no company was
 * given (ERR-10). An entity without one must be named in `shared`, so that a forgotten column fails the start and does
 * not show one company's rows to another.
 */
export async function createOrm(options: {
  url: string;
  entities: Entities;
  /** Entities that belong to no company. */
  shared?: Entities;
  /** Connections, apart from those of the plain SQL pool. */
  poolSize?: number;
  name?: string;
}): Promise<Orm> {
  const shared = options.shared ?? [];
  const orm = await MikroORM.init({
    clientUrl: options.url,
    entities: [...options.entities, ...shared],
    entityManager: TenantEntityManager as unknown as Options['entityManager'],
    pool: { min: 0, max: options.poolSize ?? 4, idleTimeoutMillis: 60_000 },
    driverOptions: {
      Client: ClusterClient,
      hosts: hostsOf(options.url),
      application_name: `${options.name ?? 'posthorn'} orm`,
      options: limitSettings(QUICK_LIMITS).join(' '),
      query_timeout: QUICK_LIMITS.statementMs + 5_000,
      ...KEEP_ALIVE,
      connectionTimeoutMillis: 5_000,
    },
    subscribers: [new TenantWrites()],
    filters: {
      [FILTER]: {
        default: true,
        entity: options.entities,
        cond: (tenant: Tenant) => ('allCompanies' in tenant ? {} : { companyId: tenant.companyId }),
      },
    },
    // Loaded dates are Date, columns are snake_case; both are defaults that the entities rely on.
    forceUtcTimezone: true,
    ignoreUndefinedInQuery: false,
    discovery: { warnWhenNoEntities: false },
  } as Options);
  for (const entity of options.entities) {
    const meta = orm.getMetadata(entity as EntityName<AnyEntity>);
    if (!meta.properties.companyId)
      throw new Error(`${meta.className} has no companyId: add one, or name it in shared`);
  }
  const scoped = (tenant: Tenant): EntityManager => {
    const em = orm.em.fork() as EntityManager;
    em.setFilterParams(FILTER, tenant);
    return em;
  };
  return {
    forCompany: (companyId) => scoped({ companyId }),
    forAllCompanies: () => scoped({ allCompanies: true }),
    fork: () => orm.em.fork() as EntityManager,
    close: () => orm.close(),
  };
}

/**
 * The methods of the entity manager that bypass the filter are blocked: a query builder is built without filters (they
 * are asynchronous there and opt-in), and bulk inserts fire no events. Set-based statements, which would need them, are
 * plain SQL.
 */
class TenantEntityManager extends SqlEntityManager {
  override createQueryBuilder(): never {
    throw new Error('the query builder passes the tenant filter by: use find, or plain SQL');
  }
  override getKysely(): never {
    throw new Error('Kysely passes the tenant filter by: use find, or plain SQL');
  }
  override insert(): never {
    throw new Error('insert passes the tenant check by: persist, or plain SQL');
  }
  override insertMany(): never {
    throw new Error('insertMany passes the tenant check by: persist, or plain SQL');
  }
  override upsert(): never {
    throw new Error('upsert passes the tenant check by: persist, or plain SQL');
  }
  override upsertMany(): never {
    throw new Error('upsertMany passes the tenant check by: persist, or plain SQL');
  }
}

/** The filter guards reads and native updates; this guards what the unit of work writes. */
class TenantWrites implements EventSubscriber {
  beforeCreate(args: EventArgs<AnyEntity>): void {
    check(args);
  }
  beforeUpdate(args: EventArgs<AnyEntity>): void {
    check(args);
  }
  beforeDelete(args: EventArgs<AnyEntity>): void {
    check(args);
  }
}

function check(args: EventArgs<AnyEntity>): void {
  if (!args.meta.properties.companyId) return;
  const tenant = args.em.getFilterParams<Tenant>(FILTER);
  if (!tenant) throw new Error(`no company was set to write ${args.meta.className}`);
  const written = (args.entity as { companyId: number }).companyId;
  if (!('allCompanies' in tenant) && written !== tenant.companyId)
    throw new Error(`${args.meta.className} of company ${written} written for company ${tenant.companyId}`);
}
