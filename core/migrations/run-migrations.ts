import { setTimeout as delay } from 'node:timers/promises';
import { type Migration, Migrator } from '@mikro-orm/migrations';
import { MikroORM } from '@mikro-orm/postgresql';
import { ClusterClient } from '../platform/database/cluster-client.ts';
import { hostsOf } from '../platform/database/cluster-url.ts';
import { connectionWith } from '../platform/database/connection-limits.ts';
import { billingMigrations } from './billing/index.ts';
import { migrations } from './messaging/index.ts';
import { MIGRATION_TABLES, type Service } from './require-schema.ts';

const LISTS: Record<Service, readonly (new (...args: never[]) => Migration)[]> = {
  messaging: migrations,
  billing: billingMigrations,
};

/**
 * Whoever waits for the lock of a table holds up everybody who comes after: behind one long report a migration would stop
 * all sends. It gives way instead, sooner than PostgreSQL looks for deadlocks (1 s), and tries again.
 */
const LOCK_MS = 500;
const PAUSE_MS = 1_000;
const GIVES_UP_AFTER_MS = 10 * 60_000;

/**
 * Runs the migrations of a service that its table does not name, each in a transaction of its own. Rejects when a table
 * is in use for ten minutes without a pause; those that were run by then stay.
 */
export async function runMigrations(databaseUrl: string, service: Service): Promise<void> {
  const { connectionString, options } = connectionWith(databaseUrl, [`-c lock_timeout=${LOCK_MS}`]);
  const orm = await MikroORM.init({
    clientUrl: connectionString,
    driverOptions: { Client: ClusterClient, hosts: hostsOf(databaseUrl), options },
    entities: [],
    logger: () => undefined,
    discovery: { warnWhenNoEntities: false },
    extensions: [Migrator],
    migrations: {
      tableName: MIGRATION_TABLES[service],
      snapshot: false,
      allOrNothing: false,
      migrationsList: LISTS[service].map((migration) => ({
        name: (new migration(undefined as never, undefined as never) as Migration & { name: string }).name,
        class: migration as never,
      })),
    },
  });
  try {
    const until = performance.now() + GIVES_UP_AFTER_MS;
    for (;;) {
      try {
        await orm.migrator.up();
        return;
      } catch (err) {
        if (!isInUse(err) || performance.now() > until) throw err;
      }
      await delay(PAUSE_MS);
    }
  } finally {
    await orm.close();
  }
}

/** 55P03: the lock did not come in time; 40P01: a deadlock. Nothing was changed. */
function isInUse(err: unknown): boolean {
  const { code, cause } = err as { code?: unknown; cause?: unknown };
  return code === '55P03' || code === '40P01' || (cause instanceof Error && isInUse(cause));
}
