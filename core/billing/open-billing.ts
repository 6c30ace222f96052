import { createHmac } from 'node:crypto';
import { billingConnectionUrl } from '../migrations/billing-role.ts';
import { requireSchema } from '../migrations/require-schema.ts';
import { type Config, ConfigError } from '../platform/config.ts';
import { createDb, type DbOptions } from '../platform/database/db.ts';
import { createOrm } from '../platform/database/orm.ts';
import { createCipher } from '../platform/encryption.ts';
import type { Clock } from '../platform/process/clock.ts';
import type { Log } from '../platform/process/log.ts';
import type { Shutdown } from '../platform/process/shutdown.ts';
import type { BillingDeps } from './deps.ts';
import { billingEntities } from './entities.ts';
import { createAsaasProvider } from './provider/asaas.ts';
import { asaasBaseUrl } from './provider/asaas-http.ts';
import { createSimulatedProvider } from './provider/simulated/simulated-provider.ts';

export interface OpenBilling extends BillingDeps {
  /** How billing's own role reaches the database. */
  url: string;
  webhookSecret: string;
}

/**
 * Opens the parts that the server and the worker of billing share: connections as billing's own database role, and
 * the payment provider that the settings choose. Closed by `shutdown`. Throws {@link ConfigError}.
 */
export async function openBilling(deps: {
  config: Config;
  clock: Clock;
  log: Log;
  shutdown: Shutdown;
  name: string;
  shown?: DbOptions['shown'];
}): Promise<OpenBilling> {
  const { config, clock, log, shutdown, name } = deps;
  if (!hasProvider(config))
    throw new ConfigError(
      'ASAAS_API_KEY is required in production; BILLING_SIMULATED=true runs billing with a simulated payment provider',
    );
  const webhookSecret = webhookSecretOf(config);
  const url = await billingConnectionUrl({
    databaseUrl: config.DATABASE_URL,
    own: config.BILLING_DATABASE_URL,
    log,
  });
  const db = createDb({
    url,
    poolSize: config.DATABASE_POOL_SIZE,
    log,
    name,
    ...(deps.shown && { shown: deps.shown }),
  });
  shutdown.add(`${name} database`, () => db.close());
  await requireSchema(db, 'billing');
  const orm = await createOrm({ url, ...billingEntities, name });
  shutdown.add(`${name} orm`, () => orm.close());
  const apiKey = config.ASAAS_API_KEY;
  const provider = apiKey
    ? createAsaasProvider({ apiKey, baseUrl: config.ASAAS_BASE_URL ?? asaasBaseUrl(apiKey) })
    : createSimulatedProvider({ db, clock });
  return {
    db,
    orm,
    clock,
    log,
    cipher: createCipher(config.ENCRYPTION_KEY, config.ENCRYPTION_KEYS_ACCEPTED),
    provider,
    url,
    webhookSecret,
  };
}

/**
 * In production the simulated provider, with which anybody can pay by saying so, has to be asked for explicitly.
 */
export function hasProvider(config: Config): boolean {
  return config.ASAAS_API_KEY !== undefined || config.BILLING_SIMULATED || config.NODE_ENV !== 'production';
}

/** The simulated provider and its ingestion share a secret without a setting. */
function webhookSecretOf(config: Config): string {
  if (config.ASAAS_WEBHOOK_SECRET) return config.ASAAS_WEBHOOK_SECRET;
  if (config.ASAAS_API_KEY) throw new ConfigError('ASAAS_WEBHOOK_SECRET is required with ASAAS_API_KEY');
  return createHmac('sha256', config.JWT_SECRET).update('simulated provider webhooks').digest('hex');
}
