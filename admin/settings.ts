import { existsSync } from 'node:fs';
import path from 'node:path';
import { type Environment, loadConfig, onlyGiven } from '@posthorn/core/platform/config.ts';
import { StartError } from '@posthorn/core/platform/run-main.ts';
import { serverUrl } from '@posthorn/standalone/src/embedded-postgres/server-url.ts';
import { readAddresses } from '@posthorn/standalone/src/note-addresses.ts';
import { loadSecrets } from '@posthorn/standalone/src/secrets.ts';
import { fillIn, readSettings } from '@posthorn/standalone/src/settings.ts';
import type { AdminDeps } from './command.ts';

/** Without one of these a role does not start, and `npm start` makes them. */
const MADE_BY_START = ['DATABASE_URL', 'AMQP_URL', 'JWT_SECRET', 'ENCRYPTION_KEY'];

/**
 * The settings of the roles, or those that the `npm start` on DATA_DIR made for itself. Throws a ConfigError, or a StartError
 * when the database is that of an `npm start` that does not run.
 */
export function adminSettings(env: Environment): Pick<AdminDeps, 'config' | 'hasBroker'> {
  const given = onlyGiven(env);
  const dataDir = path.resolve(given.DATA_DIR ?? '.data');
  const isComplete = MADE_BY_START.every((name) => given[name] !== undefined);
  if (isComplete || !existsSync(path.join(dataDir, 'secrets.json')))
    return { config: loadConfig(env), hasBroker: true };

  const { config, embedded } = readSettings(env);
  const secrets = loadSecrets(dataDir);
  const filled = { ...fillIn(config, secrets), DATA_DIR: dataDir };
  const running = readAddresses(dataDir);
  filled.BILLING_INTERNAL_URL ??= running?.POSTHORN_BILLING_URL;
  if (embedded.postgres) {
    if (running?.DATABASE_PORT === undefined)
      throw new StartError(
        `DATABASE_URL is not set, and no npm start runs on ${dataDir}: start it, or set DATABASE_URL`,
      );
    filled.DATABASE_URL = serverUrl(running.DATABASE_PORT, secrets.DATABASE_PASSWORD);
  }
  return { config: filled, hasBroker: !embedded.broker };
}
