import { createAuthenticator } from '@posthorn/core/accounts/authentication/create-authenticator.ts';
import { createJwt } from '@posthorn/core/accounts/authentication/jwt.ts';
import { createSecretDigest } from '@posthorn/core/accounts/secret-digest.ts';
import { openBilling } from '@posthorn/core/billing/open-billing.ts';
import { createStrangerLimits } from '@posthorn/core/limits/limit-strangers.ts';
import { createRateLimiter } from '@posthorn/core/limits/take-rate-slots.ts';
import { type Bus, openBus } from '@posthorn/core/platform/broker/bus.ts';
import type { Config } from '@posthorn/core/platform/config.ts';
import { reconnectCounter } from '@posthorn/core/platform/database/watch-pool.ts';
import { withoutTrailingSlashes } from '@posthorn/core/platform/http/base-url.ts';
import { createAddressReader } from '@posthorn/core/platform/http/client-address.ts';
import { createMetricsAccess } from '@posthorn/core/platform/http/metrics-access.ts';
import { transferLimits } from '@posthorn/core/platform/http/transfer-limits.ts';
import { listenFault } from '@posthorn/core/platform/listen-fault.ts';
import type { Clock } from '@posthorn/core/platform/process/clock.ts';
import type { Log } from '@posthorn/core/platform/process/log.ts';
import type { Metrics } from '@posthorn/core/platform/process/metrics.ts';
import type { Shutdown } from '@posthorn/core/platform/process/shutdown.ts';
import type { Trace } from '@posthorn/core/platform/tracing/trace.ts';
import { createCsrfTokens } from '../http/csrf.ts';
import { createBillingServer } from './app.ts';

/**
 * Starts the billing role and listens: the same in `npm run billing` and in standalone. `shutdown` closes
 * everything opened here. Resolves with the port; rejects if the database is not there or the port is taken.
 */
export async function startBilling(deps: {
  config: Config;
  clock: Clock;
  log: Log;
  metrics: Metrics;
  trace?: Trace | undefined;
  shutdown: Shutdown;
  /** The process's bus, if it has one; otherwise this opens one. */
  bus?: Bus;
}): Promise<number> {
  const { config, clock, log, shutdown } = deps;
  const billing = await openBilling({
    ...deps,
    name: 'billing',
    shown: { metrics: deps.metrics, name: 'billing' },
  });
  const onLost = reconnectCounter(deps.metrics, 'notifications');
  const bus = deps.bus ?? (await openBus({ url: billing.url, log, shutdown, name: 'billing', onLost }));
  const authenticator = createAuthenticator({
    db: billing.db,
    bus,
    clock,
    log,
    jwt: createJwt({ secret: config.JWT_SECRET, accepted: config.JWT_SECRETS_ACCEPTED, clock }),
    superadminEmails: config.SUPERADMIN_EMAILS,
    requestsPerMinute: config.RATE_LIMIT_PER_MINUTE,
    notesKeyUse: false,
  });
  const server = await createBillingServer({
    ...billing,
    authenticator,
    csrfTokensOf: createCsrfTokens(createSecretDigest(config.JWT_SECRET, config.JWT_SECRETS_ACCEPTED)),
    rateLimiter: createRateLimiter({ db: billing.db, clock }),
    strangers: createStrangerLimits({ db: billing.db, clock, perMinute: config.PUBLIC_RATE_PER_MINUTE }),
    addressOf: createAddressReader(config.TRUSTED_PROXIES),
    transfers: transferLimits(config),
    mayReadMetrics: createMetricsAccess(config.METRICS_TOKEN),
    isProduction: config.NODE_ENV === 'production',
    metrics: deps.metrics,
    trace: deps.trace,
    frontendUrl: config.FRONTEND_URL,
    publicUrl: withoutTrailingSlashes(config.BILLING_PUBLIC_URL),
    internalSecret: config.INTERNAL_SECRET,
    isDraining: shutdown.isDraining,
  });
  shutdown.add('billing server', () => server.close());
  const port = await server
    .listen(config.BILLING_PORT, config.HOST)
    .catch(
      listenFault({ host: config.HOST, port: config.BILLING_PORT }, { host: 'HOST', port: 'BILLING_PORT' }),
    );
  log.info({ host: config.HOST, port }, 'listening');
  return port;
}
