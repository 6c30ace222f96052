import { existsSync } from 'node:fs';
import path from 'node:path';
import { isUndefinedTable } from '@posthorn/core/platform/database/database-errors.ts';
import { createDb } from '@posthorn/core/platform/database/db.ts';
import type { Log } from '@posthorn/core/platform/process/log.ts';
import { StartError } from '@posthorn/core/platform/run-main.ts';
import { isGiven, type Settings } from './settings.ts';

/**
 * Rejects with a StartError when new secrets would be drawn for a database of DATABASE_URL that holds what other secrets sealed:
 * `secrets.json` is lost, or the database is that of another installation.
 */
export async function refuseSealedData(deps: {
  dataDir: string;
  settings: Settings;
  log: Log;
}): Promise<void> {
  const { config, embedded } = deps.settings;
  const file = path.join(deps.dataDir, 'secrets.json');
  if (embedded.postgres || isGiven(config.ENCRYPTION_KEY) || existsSync(file)) return;
  const db = createDb({ url: config.DATABASE_URL, poolSize: 1, log: deps.log, name: 'standalone secrets' });
  try {
    const { rows } = await db.query<{ is_sealed: boolean }>(
      `SELECT EXISTS (SELECT FROM instances WHERE credentials IS NOT NULL)
         OR EXISTS (SELECT FROM webhooks) AS is_sealed`,
    );
    if (rows[0]?.is_sealed)
      throw new StartError(
        `${file} is not there, and the database of DATABASE_URL holds what its secrets sealed: restore it, or set ENCRYPTION_KEY and JWT_SECRET to the ones before`,
      );
  } catch (err) {
    if (!isUndefinedTable(err)) throw err;
  } finally {
    await db.close();
  }
}
