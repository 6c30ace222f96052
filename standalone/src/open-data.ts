import type { Config } from '@posthorn/core/platform/config.ts';
import type { Log } from '@posthorn/core/platform/process/log.ts';
import type { Shutdown } from '@posthorn/core/platform/process/shutdown.ts';
import { startEmbeddedPostgres } from './embedded-postgres/start.ts';
import { refuseSealedData } from './refuse-sealed-data.ts';
import { loadSecrets } from './secrets.ts';
import { fillIn, type Settings } from './settings.ts';

export interface OpenedData {
  /** With the secrets, the database and an absolute DATA_DIR. */
  config: Config;
  /** The folder of the embedded database; null with DATABASE_URL. */
  databaseDir: string | null;
}

/** Opens the secrets and a database in `dataDir`, which is already locked. Rejects with a StartError. */
export async function openData(deps: {
  dataDir: string;
  settings: Settings;
  log: Log;
  shutdown: Shutdown;
  onDeath(what: string): void;
}): Promise<OpenedData> {
  const { dataDir, settings, log, shutdown } = deps;
  await refuseSealedData(deps);
  const secrets = loadSecrets(dataDir);
  const config = { ...fillIn(settings.config, secrets), DATA_DIR: dataDir };
  if (!settings.embedded.postgres) return { config, databaseDir: null };

  const postgres = await startEmbeddedPostgres({ dataDir, password: secrets.DATABASE_PASSWORD });
  shutdown.add('embedded database', () => postgres.stop());
  postgres.died.then(deps.onDeath);
  const { directory, endedStaleProcess } = postgres;
  if (endedStaleProcess !== null)
    log.info({ pid: endedStaleProcess }, 'stopped the database left by a killed start');
  for (const dir of directory.leftBehind)
    log.warn(
      { dir },
      'an earlier database of this DATA_DIR is still there: remove it when nobody needs it any more',
    );
  return { config: { ...config, DATABASE_URL: postgres.url }, databaseDir: directory.dir };
}
