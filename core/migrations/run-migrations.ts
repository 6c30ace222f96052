import { type Migration, Migrator } from '@mikro-orm/migrations';
import { MikroORM } from '@mikro-orm/postgresql';
import { ClusterClient } from '../platform/database/cluster-client.ts';
import { hostsOf } from '../platform/database/cluster-url.ts';
import { billingMigrations } from './billing/index.ts';
import { migrations } from './messaging/index.ts';
import { MIGRATION_TABLES, type Service } from './require-schema.ts';

const LISTS: Record<Service, readonly (new (...args: never[]) => Migration)[]> = {
  messaging: migrations,
  billing: billingMigrations,
};

/** Runs the migrations of a service that its table does not name. */
export async function runMigrations(databaseUrl: string, service: Service): Promise<void> {
  const orm = await MikroORM.init({
    clientUrl: databaseUrl,
    driverOptions: { Client: ClusterClient, hosts: hostsOf(databaseUrl) },
    entities: [],
    logger: () => undefined,
    discovery: { warnWhenNoEntities: false },
    extensions: [Migrator],
    migrations: {
      tableName: MIGRATION_TABLES[service],
      snapshot: false,
      migrationsList: LISTS[service].map((migration) => ({
        name: (new migration(undefined as never, undefined as never) as Migration & { name: string }).name,
        class: migration as never,
      })),
    },
  });
  try {
    await orm.migrator.up();
  } finally {
    await orm.close();
  }
}
