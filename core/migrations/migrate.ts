import type pg from 'pg';
import { ADVISORY_LOCKS } from '../platform/database/advisory-locks.ts';
import { ClusterClient } from '../platform/database/cluster-client.ts';
import { connectionWith, NO_LIMITS } from '../platform/database/connection-limits.ts';
import { grantToBillingRole, makeBillingRole, makeBillingSchema } from './billing-role.ts';
import { lacksMigrations, type Service } from './require-schema.ts';

/** Migrates the database to the newest schema. Many processes may call it concurrently. */
export async function migrate(databaseUrl: string): Promise<void> {
  const lock = clientOf(databaseUrl);
  await lock.connect();
  try {
    // Concurrent migrations take turns.
    await lock.query('SELECT pg_advisory_lock($1)', [ADVISORY_LOCKS.migration]);
    await runMissing(lock, databaseUrl, 'messaging');
    await keepEventClockGrowing(lock);
    await makeBillingSchema(lock);
    await runMissing(lock, databaseUrl, 'billing');
    await grantToBillingRole(lock);
  } finally {
    await lock.end();
  }
}

/**
 * Creates what a database needs of its cluster and its dump does not contain: the role that it grants to. To be run
 * before a restore. False when this user may create no roles and the role does not exist.
 */
export async function prepareCluster(databaseUrl: string): Promise<boolean> {
  const client = clientOf(databaseUrl);
  await client.connect();
  try {
    return await makeBillingRole(client);
  } finally {
    await client.end();
  }
}

function clientOf(databaseUrl: string): pg.Client {
  return new ClusterClient({
    ...connectionWith(databaseUrl, NO_LIMITS),
    application_name: 'posthorn migrate',
  });
}

/** The migrator is loaded only where a migration is missing: it takes as much memory as a small service. */
async function runMissing(lock: pg.Client, databaseUrl: string, service: Service): Promise<void> {
  if (!(await lacksMigrations(lock, service))) return;
  const { runMigrations } = await import('./run-migrations.ts');
  await runMigrations(databaseUrl, service);
}

/** More than a cluster counts transactions in its life: a thousand a second make as many in 34 years. */
const TRANSACTIONS_MAX = 2 ** 40;

/**
 * A dump restored into another cluster meets lower transaction numbers than its events carry. The base is raised past every
 * cursor that was given there: one at the end of the log stands above the events, so the highest of these does not tell.
 */
async function keepEventClockGrowing(client: pg.Client): Promise<void> {
  await client.query(`
    UPDATE event_clock
    SET system_identifier = here.system_identifier, tx_base = tx_base + ${TRANSACTIONS_MAX}
    FROM pg_control_system() AS here
    WHERE event_clock.system_identifier <> here.system_identifier`);
}
