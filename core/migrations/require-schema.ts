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

const TOO_OLD = 'is not at the schema of this version: run npm run migrate';

/**
 * Throws a {@link StartError} while the database lacks a migration of this version: a worker that began all the same
 * would take shards from workers that can serve them, and give up what it cannot record. Those of a newer version are
 * no fault, since the running version goes on while the next one is rolled out.
 */
export async function requireSchema(db: Sql, service: Service): Promise<void> {
  if (await lacksMigrations(db, service)) throw new StartError(`the database ${TOO_OLD} first`);
}

/** The same for /ready, of what starts before somebody has migrated. No migration is undone: it asks until one `true`. */
export function createSchemaCheck(db: Sql, service: Service): Check {
  let isThere = false;
  return async () => {
    if (isThere) return;
    if (await lacksMigrations(db, service)) throw new NotReady(TOO_OLD);
    isThere = true;
  };
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

/** From the names of the files: the migrations themselves load the ORM's migrator, 18 MB for each process. */
export function migrationNames(service: Service): string[] {
  return readdirSync(path.join(import.meta.dirname, service))
    .filter((file) => /^\d{4}-.*\.ts$/.test(file))
    .map((file) => path.basename(file, '.ts'))
    .sort();
}
