import type { Config } from '@posthorn/core/platform/config.ts';
import type { Log } from '@posthorn/core/platform/log.ts';
import type { Shutdown } from '@posthorn/core/platform/shutdown.ts';
import { openDataDir } from './data-dir.ts';
import { startEmbeddedPostgres } from './embedded-postgres/start.ts';
import { loadSecrets } from './secrets.ts';
import { fillIn, type Settings } from './settings.ts';

export interface OpenedData {
  /** With the secrets, the database and an absolute DATA_DIR. */
  config: Config;
  /** Where the embedded database is kept; null with DATABASE_URL. */
  databaseDir: string | null;
}

/** DATA_DIR for ourselves alone, the secrets in it, and a database. Rejects with a StartError. */
export async function openData(deps: {
  settings: Settings;
  log: Log;
  shutdown: Shutdown;
  onDeath(what: string): void;
}): Promise<OpenedData> {
  const { settings, log, shutdown } = deps;
  const held = openDataDir(settings.config.DATA_DIR);
  shutdown.add('data folder', held.release);
  const secrets = loadSecrets(held.dir);
  const config = { ...fillIn(settings.config, secrets), DATA_DIR: held.dir };
  if (!settings.embedded.postgres) return { config, databaseDir: null };

  const postgres = await startEmbeddedPostgres({ dataDir: held.dir, password: secrets.DATABASE_PASSWORD });
  shutdown.add('embedded database', () => postgres.stop());
  postgres.died.then(deps.onDeath);
  const { home, stoppedOrphan } = postgres;
  if (stoppedOrphan !== null)
    log.info({ pid: stoppedOrphan }, 'stopped the database of a start that was killed');
  for (const dir of home.leftBehind)
    log.warn(
      { dir },
      'a database that this DATA_DIR had before is still there: remove it when nobody needs it',
    );
  return { config: { ...config, DATABASE_URL: postgres.url }, databaseDir: home.dir };
}
