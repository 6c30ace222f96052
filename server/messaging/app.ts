import { PLAYGROUND_MEDIA_MAX_BYTES, WEBHOOK_PAYLOAD_RETENTION_DAYS } from '@posthorn/contract/limits.ts';
import { messagingContract } from '@posthorn/contract/messaging/index.ts';
import { checkPrincipal } from '@posthorn/core/access/lock-principal.ts';
import type { Principal } from '@posthorn/core/access/principal.ts';
import { createBillingClient } from '@posthorn/core/accounts/company/billing-client.ts';
import { createAccounts } from '@posthorn/core/accounts/create-accounts.ts';
import { createOAuthProviders } from '@posthorn/core/accounts/oauth/create-providers.ts';
import { ensureSuperadmins } from '@posthorn/core/accounts/users/ensure-superadmins.ts';
import { createEventFeed } from '@posthorn/core/events/event-feed.ts';
import { createTickets } from '@posthorn/core/events/ticket.ts';
import { createStrangerLimits } from '@posthorn/core/limits/limit-strangers.ts';
import { createLoadShedder } from '@posthorn/core/limits/shed-load.ts';
import { createRateLimiter } from '@posthorn/core/limits/take-rate-slots.ts';
import { createMediaSources } from '@posthorn/core/media/media-sources.ts';
import { type OpenedMedia, openMedia } from '@posthorn/core/media/open-media.ts';
import type { Bus } from '@posthorn/core/platform/broker/bus.ts';
import { createNotificationWaits } from '@posthorn/core/platform/broker/notification-waits.ts';
import type { Config } from '@posthorn/core/platform/config.ts';
import type { Db, Sql } from '@posthorn/core/platform/database/db.ts';
import type { Orm } from '@posthorn/core/platform/database/orm.ts';
import { withoutTrailingSlashes } from '@posthorn/core/platform/http/base-url.ts';
import { createAddressReader } from '@posthorn/core/platform/http/client-address.ts';
import { createMetricsAccess } from '@posthorn/core/platform/http/metrics-access.ts';
import { transferLimits } from '@posthorn/core/platform/http/transfer-limits.ts';
import type { Clock } from '@posthorn/core/platform/process/clock.ts';
import type { Log } from '@posthorn/core/platform/process/log.ts';
import type { Metrics } from '@posthorn/core/platform/process/metrics.ts';
import type { Trace } from '@posthorn/core/platform/tracing/trace.ts';
import { createSandboxPhones } from '@posthorn/core/playground/sandbox-phones.ts';
import { createAcceptor } from '@posthorn/core/sending/accept-send.ts';
import type { LocalQueues } from '@posthorn/core/sending/local-queues.ts';
import { serveConsole } from '../http/console.ts';
import { createCors } from '../http/cors.ts';
import { createApp } from '../http/create-app.ts';
import { createCsrfTokens } from '../http/csrf.ts';
import { guardMetrics } from '../http/guard-metrics.ts';
import { createLiveConnections } from '../http/live-connections.ts';
import { serveContract } from '../http/serve-contract.ts';
import { createEventSockets } from '../http/websocket.ts';
import { messagingHandlers } from './handlers.ts';
import { createMediaBodies } from './media/media-body.ts';

/** Buffers for writing one body into the spool. */
const SPOOL_MEMORY_BYTES = 512 * 1024;

export interface MessagingDeps {
  config: Config;
  db: Db;
  /** The pool for hot statements, created with `plans: 'indexed'`. */
  hotDb: Db;
  /** Reads reports, where a standby does it (DATABASE_READ_URL). */
  reports?: Sql;
  /** Created with `messagingEntities`. */
  orm: Orm;
  bus: Bus;
  clock: Clock;
  log: Log;
  metrics: Metrics;
  trace?: Trace | undefined;
  /** The worker's queues, if it runs in the same process. */
  queues?: LocalQueues;
  /** Without it, this installation stores no media, and requests that need it get 503. */
  media?: OpenedMedia;
  /** True while the process drains: /ready answers 503 and connections are not kept. */
  isDraining?: () => boolean;
  /** Checks every answer against the contract; on in tests. */
  validateResponses?: boolean;
}

export interface MessagingServer {
  /** Resolves with the port; port 0 picks a free one. */
  listen(port: number, host: string): Promise<number>;
  /** Ends the live streams and answers requests in progress; resolves when none is left. */
  close(): Promise<void>;
}

/** The messaging API: HTTP over the use cases of core. Any number of these serve one database. */
// long: the composition of a service: each line makes one part and hands it on
export async function createMessagingServer(deps: MessagingDeps): Promise<MessagingServer> {
  const { config, db, hotDb, bus, clock, log, metrics } = deps;
  let closing = false;
  const isDraining = () => closing || (deps.isDraining?.() ?? false);
  const accounts = createAccounts(deps, config);
  await ensureSuperadmins(accounts.deps);
  const csrfTokensOf = createCsrfTokens(accounts.deps.digest);
  const acceptor = createAcceptor({ db: hotDb, bus, clock, queues: deps.queues, trace: deps.trace });
  const tickets = createTickets({
    db,
    secret: config.JWT_SECRET,
    accepted: config.JWT_SECRETS_ACCEPTED,
    clock,
  });
  const feed = createEventFeed({ db: hotDb, bus, clock, log, retentionDays: WEBHOOK_PAYLOAD_RETENTION_DAYS });
  const connections = createLiveConnections({
    bus,
    clock,
    limits: { perCompany: config.STREAMS_PER_COMPANY, perCredential: config.STREAMS_PER_KEY },
  });
  const sockets = createEventSockets({ db, feed, connections });
  metrics.gauge('event_stream_readers', 'Open SSE and WebSocket connections', () => {
    const { live, behind } = feed.readers();
    return live + behind;
  });
  for (const state of ['live', 'behind'] as const)
    metrics.gauge('posthorn_event_readers', 'Open streams by where they stand', () => feed.readers()[state], {
      state,
    });
  metrics.gauge(
    'posthorn_event_reader_lag_seconds',
    'How far the stream that is most behind is behind the end of the log',
    () => feed.readers().lagMs / 1000,
  );

  const media = deps.media ?? (await openMedia({ config: { ...config, MEDIA_STORAGE: 'none' }, db, clock }));
  const serving = {
    mediaBodies: createMediaBodies(
      media.storage && {
        spool: media.spool,
        budget: media.budget,
        room: media.room,
        bodyMemoryBytes: media.storage.writeMemoryBytes + SPOOL_MEMORY_BYTES,
      },
    ),
    log,
    metrics,
    trace: deps.trace,
    isDraining,
    validateResponses: deps.validateResponses ?? false,
    envelope: 'full' as const,
    cors: createCors(config.FRONTEND_URL),
    authenticator: accounts.authenticator,
    checkPrincipal: (principal: Principal) => checkPrincipal(db, principal),
    csrfTokensOf,
    authenticateAccount: accounts.authenticator.authenticateAccount,
    redeemTicket: tickets.redeem,
    guards: { 'health.metrics': guardMetrics(createMetricsAccess(config.METRICS_TOKEN)) },
    rateLimiter: createRateLimiter({ db: hotDb, clock }),
    shedder: createLoadShedder({
      waitMs: acceptor.waitMs,
      probe: () => Promise.all([db.query('SELECT 1'), deps.orm.fork().execute('SELECT 1')]),
      metrics,
    }),
    strangers: createStrangerLimits({ db: hotDb, clock, perMinute: config.PUBLIC_RATE_PER_MINUTE }),
    addressOf: createAddressReader(config.TRUSTED_PROXIES),
    transfers: transferLimits(config),
    isProduction: config.NODE_ENV === 'production',
  };
  const app = createApp(serving);
  const handlers = messagingHandlers({
    ...accounts.deps,
    config,
    db,
    reports: deps.reports ?? db,
    orm: deps.orm,
    bus,
    clock,
    log,
    metrics,
    isDraining,
    acceptor,
    feed,
    tickets,
    connections,
    sockets,
    notifications: createNotificationWaits(bus, 'instance'),
    answers: createNotificationWaits(bus, 'answers'),
    media: media.sources,
    storedMedia: media,
    publicUrl: withoutTrailingSlashes(config.PUBLIC_URL),
    drivers: config.NETWORK_DRIVERS,
    graph: { url: config.GRAPH_URL, version: config.GRAPH_VERSION },
    proxies: { cipher: accounts.deps.cipher, allowPrivate: config.ALLOW_PRIVATE_PROXIES },
    playground: {
      // The playground's phones belong to the sandbox.
      enabled: config.PLAYGROUND_ENABLED && config.NETWORK_DRIVERS.includes('sandbox'),
      phones: createSandboxPhones(config.SANDBOX_URL),
      media: createMediaSources({ ...media, fetchMaxBytes: PLAYGROUND_MEDIA_MAX_BYTES }),
    },
    reputation: {
      addresses: config.EGRESS_IPS,
      zones: config.REPUTATION_ZONES,
      resolvers: config.REPUTATION_RESOLVER,
    },
    providers: createOAuthProviders(config, clock),
    oauthFrontendUrl: config.OAUTH_FRONTEND_REDIRECT_URL ?? config.FRONTEND_URL,
    billing: createBillingClient({ baseUrl: config.BILLING_INTERNAL_URL, secret: config.INTERNAL_SECRET }),
    cookies: { secure: config.NODE_ENV !== 'development', csrfTokensOf },
    policy: {
      allowPrivate: config.ALLOW_PRIVATE_WEBHOOKS,
      requireHttps: config.NODE_ENV === 'production' && !config.ALLOW_PRIVATE_WEBHOOKS,
    },
  });
  serveContract(app, messagingContract, handlers, serving);
  serveConsole(app, { ...serving, publicUrl: config.PUBLIC_URL, billingUrl: config.BILLING_PUBLIC_URL });

  return {
    listen: app.listen,
    async close() {
      closing = true;
      // Stop accepting first: a stream that ends here must reconnect elsewhere.
      await app.stopListening();
      await feed.close();
      sockets.close();
      await app.close();
      await acceptor.idle();
    },
  };
}
