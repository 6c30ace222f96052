import { type Config, type Environment, loadConfig, onlyGiven } from '@posthorn/core/platform/config.ts';
import type { Secrets } from './secrets.ts';

export interface Settings {
  config: Config;
  /** The parts for which no variable names a real one. */
  embedded: { postgres: boolean; broker: boolean; sandbox: boolean };
}

/**
 * The settings of a standalone start: the roles' defaults, except for a few that only make sense on one's own
 * machine. Throws {@link ConfigError}. Generated and embedded values are placeholders until {@link fillIn}: a
 * wrong setting must be reported before anything is started.
 */
export function readSettings(env: Environment): Settings {
  const set = onlyGiven(env);
  const port = set.PORT ?? '8080';
  const config = loadConfig({
    NODE_ENV: 'development',
    // The screen belongs to the person who typed the command.
    LOG_LEVEL: 'warn',
    ALLOW_PRIVATE_WEBHOOKS: 'true',
    ALLOW_PRIVATE_PROXIES: 'true',
    // A single process has no rolling restart: Ctrl-C must not wait, whatever NODE_ENV says.
    SHUTDOWN_DELAY_SECONDS: '0',
    BILLING_SIMULATED: 'true',
    PLAYGROUND_ENABLED: 'true',
    PUBLIC_URL: `http://127.0.0.1:${port}`,
    BILLING_PUBLIC_URL: `http://127.0.0.1:${set.BILLING_PORT ?? '8081'}`,
    DATABASE_URL: 'postgres://embedded',
    AMQP_URL: 'amqp://embedded',
    JWT_SECRET: PLACE,
    ENCRYPTION_KEY: PLACE,
    INTERNAL_SECRET: PLACE,
    ...set,
  });
  // The sandbox bans nobody, and someone trying the service out must not wait for minutes (SND-38).
  if (config.NETWORK_DRIVERS.every((name) => name === 'sandbox')) config.HUMANIZE_MAX_SECONDS ??= 10;
  return {
    config,
    embedded: {
      postgres: set.DATABASE_URL === undefined,
      broker: set.AMQP_URL === undefined,
      sandbox: config.NETWORK_DRIVERS.includes('sandbox') && set.SANDBOX_URL === undefined,
    },
  };
}

const PLACE = '0'.repeat(64);

/** Whether a secret of {@link readSettings} stands in the environment. */
export function isGiven(secret: string | undefined): boolean {
  return secret !== undefined && secret !== PLACE;
}

/** Inserts the generated secrets for those missing in the environment. */
export function fillIn(config: Config, secrets: Secrets): Config {
  const given = (value: string | undefined, generated: string) => (isGiven(value) ? value! : generated);
  return {
    ...config,
    JWT_SECRET: given(config.JWT_SECRET, secrets.JWT_SECRET),
    ENCRYPTION_KEY: given(config.ENCRYPTION_KEY, secrets.ENCRYPTION_KEY),
    INTERNAL_SECRET: given(config.INTERNAL_SECRET, secrets.INTERNAL_SECRET),
  };
}
