import { readdirSync } from 'node:fs';
import path from 'node:path';
import type { QueryResultRow } from 'pg';
import { isUndefinedTable } from '../platform/database/database-errors.ts';
import type { Sql } from '../platform/database/db.ts';
import { type Check, NotReady } from '../platform/process/readiness.ts';
import { StartError } from '../platform/run-main.ts';

/** The table in which each of the two services records which of its migrations were run. */
export const MIGRATION_TABLES = { messaging: 'migrations', billing: 'billing.migrations' } as const;
export type Service = keyof typeof MIGRATION_TABLES;

/** A connection or a pool. */
interface Asks {
  query<Row extends QueryResultRow>(sql: string): Promise<{ rows: Row[] }>;
}

/**
 * Throws a {@link StartError} while the database has to be migrated: a worker that began all the same would take shards from
 * workers that can serve them, and give up what it cannot record.
 */
export async function requireSchema(db: Sql, service: Service): Promise<void> {
  const lack = await schemaLack(db, service);
  if (lack) throw new StartError(`the database ${lack} first`);
}

/** The same for /ready, of what starts before somebody has migrated. No migration is undone: it asks until one `true`. */
export function createSchemaCheck(db: Sql, service: Service): Check {
  let isThere = false;
  return async () => {
    if (isThere) return;
    const lack = await schemaLack(db, service);
    if (lack) throw new NotReady(lack);
    isThere = true;
  };
}

/**
 * Says of the database why it has to be migrated; null: it does not. Migrations of a newer version are no fault, since the
 * running version goes on while the next one is rolled out.
 */
export async function schemaLack(db: Asks, service: Service): Promise<string | null> {
  if (await lacksMigrations(db, service)) return 'is not at the schema of this version: run npm run migrate';
  if (service === 'messaging' && (await isOfAnotherCluster(db)))
    return 'was restored into another cluster: run npm run migrate';
  return null;
}

/** Whether a migration of this version was not run on the database. */
export async function lacksMigrations(db: Asks, service: Service): Promise<boolean> {
  try {
    const { rows } = await db.query<{ name: string }>(`SELECT name FROM ${MIGRATION_TABLES[service]}`);
    const done = new Set(rows.map(({ name }) => name));
    return migrationNames(service).some((name) => !done.has(name));
  } catch (err) {
    if (isUndefinedTable(err)) return true;
    throw err;
  }
}

/** Until `migrate` has raised the event clock, new events would be numbered below the cursors that clients have. */
async function isOfAnotherCluster(db: Asks): Promise<boolean> {
  const { rows } = await db.query(
    `SELECT 1 FROM event_clock JOIN pg_control_system() here USING (system_identifier)`,
  );
  return rows.length === 0;
}

/** From the names of the files: the migrations themselves load the ORM's migrator, 18 MB for each process. */
export function migrationNames(service: Service): string[] {
  return readdirSync(path.join(import.meta.dirname, service))
    .filter((file) => /^\d{4}-.*\.ts$/.test(file))
    .map((file) => path.basename(file, '.ts'))
    .sort();
}
