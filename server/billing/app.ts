import type { IncomingMessage } from 'node:http';
import { billingContract } from '@posthorn/contract/billing/index.ts';
import { billingInternal } from '@posthorn/contract/billing/internal.ts';
import { checkPrincipal } from '@posthorn/core/access/lock-principal.ts';
import type { Authenticator, Principal } from '@posthorn/core/access/principal.ts';
import type { BillingDeps } from '@posthorn/core/billing/deps.ts';
import { checkSecret } from '@posthorn/core/billing/provider-events/ingest-event.ts';
import { cancelCompany } from '@posthorn/core/billing/subscriptions/cancel-company.ts';
import type { StrangerLimits } from '@posthorn/core/limits/limit-strangers.ts';
import { createLoadShedder } from '@posthorn/core/limits/shed-load.ts';
import type { RateLimiter } from '@posthorn/core/limits/take-rate-slots.ts';
import { clockRemark } from '@posthorn/core/platform/database/database-clock.ts';
import type { AddressReader } from '@posthorn/core/platform/http/client-address.ts';
import type { MetricsAccess } from '@posthorn/core/platform/http/metrics-access.ts';
import type { TransferLimits } from '@posthorn/core/platform/http/transfer-limits.ts';
import type { Metrics } from '@posthorn/core/platform/process/metrics.ts';
import type { Trace } from '@posthorn/core/platform/tracing/trace.ts';
import { createCors } from '../http/cors.ts';
import { createApp } from '../http/create-app.ts';
import type { CsrfTokensOf } from '../http/csrf.ts';
import { guardMetrics } from '../http/guard-metrics.ts';
import { referenceHandlers } from '../http/reference.ts';
import { serveContract } from '../http/serve-contract.ts';
import { billingRoutes } from './routes.ts';
import { simulatorRoutes } from './simulator-routes.ts';

export interface BillingServerDeps extends BillingDeps {
  /** The messaging service's: billing accepts the same JWTs and keys (BIL-2). */
  authenticator: Authenticator;
  /** Browsers may send messaging's cookies too: both services are often on one host. */
  csrfTokensOf: CsrfTokensOf;
  rateLimiter: RateLimiter;
  strangers: StrangerLimits;
  addressOf: AddressReader;
  transfers: TransferLimits;
  mayReadMetrics: MetricsAccess;
  /** HSTS on every answer. */
  isProduction: boolean;
  metrics: Metrics;
  trace?: Trace | undefined;
  frontendUrl: string;
  /** The public URL of this service, without a trailing slash. */
  publicUrl: string;
  /** Authenticates the provider's webhooks (ASAAS_WEBHOOK_SECRET). */
  webhookSecret: string;
  /** Authenticates messaging; without it the internal endpoint refuses every request. */
  internalSecret: string | undefined;
  isDraining?: () => boolean;
  /** Checks every answer against the contract; on in tests. */
  validateResponses?: boolean;
}

export interface BillingServer {
  /** Resolves with the port; port 0 picks a free one. */
  listen(port: number, host: string): Promise<number>;
  /** Finishes the requests in progress; resolves when none is left. */
  close(): Promise<void>;
}

/** The billing API: HTTP over the use cases of core/billing. Any number of these serve one database. */
export async function createBillingServer(deps: BillingServerDeps): Promise<BillingServer> {
  let closing = false;
  const { internalSecret } = deps;
  const isDraining = () => closing || (deps.isDraining?.() ?? false);
  const serving = {
    log: deps.log,
    metrics: deps.metrics,
    trace: deps.trace,
    isDraining,
    validateResponses: deps.validateResponses ?? false,
    envelope: 'reduced' as const,
    cors: createCors(deps.frontendUrl),
    authenticator: deps.authenticator,
    checkPrincipal: (principal: Principal) => checkPrincipal(deps.db, principal),
    csrfTokensOf: deps.csrfTokensOf,
    rateLimiter: deps.rateLimiter,
    shedder: createLoadShedder({
      probe: () => Promise.all([deps.db.query('SELECT 1'), deps.orm.fork().execute('SELECT 1')]),
      metrics: deps.metrics,
    }),
    strangers: deps.strangers,
    addressOf: deps.addressOf,
    transfers: deps.transfers,
    isProduction: deps.isProduction,
    guards: {
      'health.metrics': guardMetrics(deps.mayReadMetrics),
      'providerWebhook.ingest': ({ headers }: IncomingMessage) =>
        checkSecret(headers['asaas-access-token'], deps.webhookSecret),
      cancelSubscriptions: ({ headers }: IncomingMessage) =>
        checkSecret(headers['x-internal-secret'], internalSecret),
    },
  };
  const app = createApp(serving);
  const service = 'billing';
  serveContract(
    app,
    billingContract,
    {
      ...billingRoutes(deps),
      simulator: simulatorRoutes(deps),
      openapi: referenceHandlers({ service, publicUrl: deps.publicUrl, clock: deps.clock }),
      health: {
        health: () => ({ status: 200, body: { status: 'ok', service } }),
        // Always 200, whatever the state of its dependencies; reports draining and a wrong clock.
        ready: () => {
          const clock = clockRemark(deps.clock);
          const checks = clock === null ? {} : { clock: `ok, but ${clock}` };
          return { status: 200, body: { status: isDraining() ? 'draining' : 'ok', service, checks } };
        },
        metrics: async () => ({
          status: 200,
          body: await deps.metrics.read(),
          headers: { 'content-type': deps.metrics.contentType },
        }),
      },
    },
    serving,
  );
  serveContract(
    app,
    billingInternal,
    {
      cancelSubscriptions: async ({ params }) => ({
        status: 200,
        body: { cancelled: await cancelCompany(deps, { companyId: Number(params.companyId) }) },
      }),
    },
    serving,
  );
  return {
    listen: app.listen,
    async close() {
      closing = true;
      await app.close();
    },
  };
}
