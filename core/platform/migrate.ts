import { Migrator } from '@mikro-orm/migrations';
import { MikroORM } from '@mikro-orm/postgresql';
import pg from 'pg';
import { migrations } from './migrations/index.ts';

/** Any two processes that migrate at the same time take turns. */
const MIGRATION_LOCK = 7_071_001;

/** Brings the database to the newest schema. Safe to call from many processes at once. */
export async function migrate(databaseUrl: string): Promise<void> {
  const lock = new pg.Client({ connectionString: databaseUrl, application_name: 'posthorn migrate' });
  await lock.connect();
  try {
    await lock.query('SELECT pg_advisory_lock($1)', [MIGRATION_LOCK]);
    const orm = await MikroORM.init({
      clientUrl: databaseUrl,
      entities: [],
      logger: () => undefined,
      discovery: { warnWhenNoEntities: false },
      extensions: [Migrator],
      migrations: {
        tableName: 'migrations',
        snapshot: false,
        migrationsList: migrations.map((migration) => ({
          name: new migration(undefined as never, undefined as never).name,
          class: migration,
        })),
      },
    });
    try {
      await orm.migrator.up();
      await keepEventClockGrowing(lock);
    } finally {
      await orm.close();
    }
  } finally {
    await lock.end();
  }
}

/**
 * A dump restored into another cluster meets lower transaction numbers than its events carry. The base
 * is raised past the highest cursor there, so that readers who held one miss nothing new.
 */
async function keepEventClockGrowing(client: pg.Client): Promise<void> {
  await client.query(`
    UPDATE event_clock
    SET system_identifier = here.system_identifier,
        tx_base = greatest(0, (SELECT coalesce(max(tx), 0) FROM events) + 1 - pg_current_xact_id()::text::bigint)
    FROM pg_control_system() AS here
    WHERE event_clock.system_identifier <> here.system_identifier`);
}
