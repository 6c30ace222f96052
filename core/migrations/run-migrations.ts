import { setTimeout as delay } from 'node:timers/promises';
import { type Migration, Migrator } from '@mikro-orm/migrations';
import { MikroORM } from '@mikro-orm/postgresql';
import { ClusterClient } from '../platform/database/cluster-client.ts';
import { hostsOf } from '../platform/database/cluster-url.ts';
import { connectionWith, NO_LIMITS } from '../platform/database/connection-limits.ts';
import { isDeadlock, isLockTimeout } from '../platform/database/database-errors.ts';
import { billingMigrations } from './billing/index.ts';
import { migrations } from './messaging/index.ts';
import { MIGRATION_TABLES, type Service } from './require-schema.ts';

const LISTS: Record<Service, readonly (new (...args: never[]) => Migration)[]> = {
  messaging: migrations,
  billing: billingMigrations,
};

/**
 * A migration that waits for the lock of a table holds up every query that comes after it: behind one long report it
 * would stop all sends. It gives way instead, sooner than PostgreSQL looks for deadlocks (1 s), and tries again. Most
 * tries are short: a migration that locks several tables succeeds only when no transaction holds any of them, so the
 * number of tries counts. Every fourth try waits longer, for tables that always have a transaction longer than a short
 * try.
 */
const LOCK_MS = { short: 100, long: 500 };
const LONG_EVERY = 4;
const PAUSE_MS = 300;
const GIVES_UP_AFTER_MS = 10 * 60_000;

/**
 * Autovacuum gives way to a query that waits for its table, but only after `deadlock_timeout`, which is longer than a
 * try; on a large table it may run for hours. This statement waits for that long, for a lock that holds up no reads and
 * no writes. A manual vacuum, and one that prevents a wraparound, do not give way: then the wait is in vain.
 */
const INTERRUPT_AUTOVACUUM = `
DO $$
DECLARE busy regclass;
BEGIN
  PERFORM set_config('lock_timeout', (setting::integer + 500)::text, true) FROM pg_settings WHERE name = 'deadlock_timeout';
  FOR busy IN
    SELECT DISTINCT c.oid FROM pg_locks l JOIN pg_class c ON c.oid = l.relation
    WHERE l.locktype = 'relation' AND l.mode = 'ShareUpdateExclusiveLock' AND l.granted AND c.relkind = 'r'
      AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())
  LOOP
    BEGIN
      EXECUTE format('LOCK TABLE %s IN SHARE UPDATE EXCLUSIVE MODE', busy);
    EXCEPTION WHEN lock_not_available OR insufficient_privilege OR undefined_table THEN NULL;
    END;
  END LOOP;
END $$`;

/**
 * Runs the migrations of a service that its table does not name, each in a transaction of its own. Rejects when a table
 * is in use for ten minutes without a pause; those that were run by then stay.
 */
export async function runMigrations(databaseUrl: string, service: Service): Promise<void> {
  const { connectionString, options } = connectionWith(databaseUrl, NO_LIMITS);
  const orm = await MikroORM.init({
    clientUrl: connectionString,
    driverOptions: { Client: ClusterClient, hosts: hostsOf(databaseUrl), options },
    entities: [],
    // One, so that each try gets its own limit for locks.
    pool: { min: 1, max: 1 },
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
    const connection = orm.em.getConnection();
    for (let nth = 1; ; nth += 1) {
      const isLong = nth % LONG_EVERY === 0;
      try {
        await connection.execute(`SET lock_timeout = ${isLong ? LOCK_MS.long : LOCK_MS.short}`);
        await orm.migrator.up();
        return;
      } catch (err) {
        if (!isInUse(err) || performance.now() > until) throw err;
      }
      if (isLong) await connection.execute(INTERRUPT_AUTOVACUUM);
      else await delay(PAUSE_MS * (0.5 + Math.random()));
    }
  } finally {
    await orm.close();
  }
}

/** Nothing was changed. */
function isInUse(err: unknown): boolean {
  const { cause } = err as { cause?: unknown };
  return isLockTimeout(err) || isDeadlock(err) || (cause instanceof Error && isInUse(cause));
}
