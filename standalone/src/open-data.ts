import type { Config } from '@posthorn/core/platform/config.ts';
import type { Log } from '@posthorn/core/platform/process/log.ts';
import type { Shutdown } from '@posthorn/core/platform/process/shutdown.ts';
import { startEmbeddedPostgres } from './embedded-postgres/start.ts';
import { loadSecrets } from './secrets.ts';
import { fillIn, type Settings } from './settings.ts';

export interface OpenedData {
  /** With the secrets, the database and an absolute DATA_DIR. */
  config: Config;
  /** Where the embedded database is kept; null with DATABASE_URL. */
  databaseDir: string | null;
}

/** The secrets in `dataDir`, which is ours alone already, and a database. Rejects with a StartError. */
export async function openData(deps: {
  dataDir: string;
  settings: Settings;
  log: Log;
  shutdown: Shutdown;
  onDeath(what: string): void;
}): Promise<OpenedData> {
  const { dataDir, settings, log, shutdown } = deps;
  const secrets = loadSecrets(dataDir);
  const config = { ...fillIn(settings.config, secrets), DATA_DIR: dataDir };
  if (!settings.embedded.postgres) return { config, databaseDir: null };

  const postgres = await startEmbeddedPostgres({ dataDir, password: secrets.DATABASE_PASSWORD });
  shutdown.add('embedded database', () => postgres.stop());
  postgres.died.then(deps.onDeath);
  const { directory, endedStaleProcess } = postgres;
  if (endedStaleProcess !== null)
    log.info({ pid: endedStaleProcess }, 'stopped the database of a start that was killed');
  for (const dir of directory.leftBehind)
    log.warn(
      { dir },
      'a database that this DATA_DIR had before is still there: remove it when nobody needs it',
    );
  return { config: { ...config, DATABASE_URL: postgres.url }, databaseDir: directory.dir };
}
