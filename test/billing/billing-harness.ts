import { randomInt } from 'node:crypto';
import { createAuthenticator } from '@posthorn/core/accounts/authentication/create-authenticator.ts';
import { createJwt } from '@posthorn/core/accounts/authentication/jwt.ts';
import { createSecretDigest } from '@posthorn/core/accounts/secret-digest.ts';
import type { BillingDeps } from '@posthorn/core/billing/deps.ts';
import { billingEntities } from '@posthorn/core/billing/entities.ts';
import type { PaymentProvider } from '@posthorn/core/billing/provider/port.ts';
import { createSimulatedProvider } from '@posthorn/core/billing/provider/simulated/simulated-provider.ts';
import { createStrangerLimits } from '@posthorn/core/limits/limit-strangers.ts';
import { createRateLimiter } from '@posthorn/core/limits/take-rate-slots.ts';
import { billingConnectionUrl } from '@posthorn/core/migrations/billing-role.ts';
import { createBus } from '@posthorn/core/platform/broker/bus.ts';
import { createInProcessBroker } from '@posthorn/core/platform/broker/in-process.ts';
import { createDb } from '@posthorn/core/platform/database/db.ts';
import { createOrm } from '@posthorn/core/platform/database/orm.ts';
import { createCipher } from '@posthorn/core/platform/encryption.ts';
import { createAddressReader } from '@posthorn/core/platform/http/client-address.ts';
import { createMetricsAccess } from '@posthorn/core/platform/http/metrics-access.ts';
import { type TransferLimits, transferLimits } from '@posthorn/core/platform/http/transfer-limits.ts';
import type { Log } from '@posthorn/core/platform/process/log.ts';
import { createMetrics } from '@posthorn/core/platform/process/metrics.ts';
import { createBillingServer } from '@posthorn/server/billing/app.ts';
import { createCsrfTokens } from '@posthorn/server/http/csrf.ts';
import { startBillingWorker } from '@posthorn/worker/billing/billing-worker.ts';
import { consumeEntitlementUpdates } from '@posthorn/worker/billing/consume-entitlement-updates.ts';
import { testConfig } from '../support/config.ts';
import { createDocumentGuard } from '../support/document-guard.ts';
import type { Answer, Request } from '../support/messaging.ts';
import { createParts, type Parts } from '../support/parts.ts';
import { type SeededCompany, seedCompany, seedSession } from '../support/seed.ts';
import { asaasProviderOf } from './asaas-provider.ts';
import type { AsaasServer } from './asaas-server.ts';

export const WEBHOOK_SECRET = 'what the provider proves its webhooks with';
export const INTERNAL_SECRET = 'what messaging proves itself to billing with';

export interface TestBilling {
  /** Messaging's side: the superuser's connections and the clock that everything here uses. */
  parts: Parts;
  /** Billing's own parts, with its database role. */
  billing: BillingDeps;
  url: string;
  /** With billing's role. */
  databaseUrl: string;
  call(method: string, path: string, request?: Request): Promise<Answer>;
  /** Delivers an event of the provider as the provider does. */
  deliver(event: Record<string, unknown>): Promise<Answer>;
  company(): Promise<SeededCompany>;
  superadminJwt(): Promise<string>;
  jwtOf(company: SeededCompany): Promise<string>;
  /** Starts billing's worker and messaging's consumer; `close` or the returned function stops them. */
  startWorker(): Promise<() => Promise<void>>;
  close(): Promise<void>;
}

const SUPERADMIN = 'root@example.test';

/** The billing service in this process, over real HTTP, with its own database role, on a database of its own. */
export async function startTestBilling(
  options: {
    asaas?: AsaasServer;
    /** The timeout of a call that the provider keeps waiting. */
    asaasTimeoutMs?: number;
    log?: Log;
    /** The limit of a company without a plan; both services share its count, so they must have the same limit. */
    requestsPerMinute?: number;
    /** The limit of an address, for each route without a credential. */
    publicPerMinute?: number;
    transfers?: TransferLimits;
    /** Commits do not wait for the disk: for tests that make very many and cut no power. */
    relaxed?: boolean;
  } = {},
): Promise<TestBilling> {
  const made = await createParts();
  const parts: Parts = { ...made, log: options.log ?? made.log };
  const { clock, log } = parts;
  if (options.relaxed)
    await parts.db.query(
      `DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET synchronous_commit = off', current_database()); END $$`,
    );
  const databaseUrl = await billingConnectionUrl({ databaseUrl: parts.url, own: undefined, log });
  const db = createDb({ url: databaseUrl, poolSize: 20, log, name: 'test billing' });
  const orm = await createOrm({ url: databaseUrl, ...billingEntities, name: 'test billing' });
  const bus = await createBus({ url: databaseUrl, log, name: 'test billing' });
  const config = testConfig({ TRUSTED_PROXIES: '127.0.0.1' });
  const provider: PaymentProvider = options.asaas
    ? asaasProviderOf(options.asaas, options.asaasTimeoutMs ?? 30_000)
    : createSimulatedProvider({ db, clock });
  const billing: BillingDeps = { db, orm, clock, log, provider, cipher: createCipher(config.ENCRYPTION_KEY) };
  const jwt = createJwt({ secret: config.JWT_SECRET, clock });
  const server = await createBillingServer({
    ...billing,
    authenticator: createAuthenticator({
      db,
      bus,
      clock,
      log,
      jwt,
      superadminEmails: [SUPERADMIN],
      notesKeyUse: false,
      requestsPerMinute: options.requestsPerMinute,
    }),
    csrfTokensOf: createCsrfTokens(createSecretDigest(config.JWT_SECRET)),
    rateLimiter: createRateLimiter({ db, clock }),
    strangers: createStrangerLimits({ db, clock, perMinute: options.publicPerMinute ?? 1_000_000 }),
    addressOf: createAddressReader(config.TRUSTED_PROXIES),
    transfers: options.transfers ?? transferLimits(config),
    metrics: createMetrics({ collectProcess: false }),
    frontendUrl: 'http://127.0.0.1',
    publicUrl: 'https://billing.example.com',
    mayReadMetrics: createMetricsAccess(config.METRICS_TOKEN),
    isProduction: false,
    webhookSecret: WEBHOOK_SECRET,
    internalSecret: INTERNAL_SECRET,
    validateResponses: true,
  });
  const url = `http://127.0.0.1:${await server.listen(0, '127.0.0.1')}`;
  const stops: (() => Promise<void>)[] = [];
  const guard = createDocumentGuard('billing');
  const call: TestBilling['call'] = async (method, path, request) =>
    guard(method, path, await send(url + path, method, request));
  const sign = async (user: {
    companyId: number;
    userId: number;
    role: SeededCompany['principal']['role'];
  }) =>
    jwt.sign({
      ...user,
      isSuperadmin: user.role === 'superadmin',
      pwdChangedAtMs: clock.now().getTime() + 86_400_000,
      ...(await seedSession(parts.db, user)),
    });
  return {
    parts,
    billing,
    url,
    databaseUrl,
    call,
    deliver: (event) =>
      call('POST', '/v1/webhooks/asaas', { headers: { 'asaas-access-token': WEBHOOK_SECRET }, body: event }),
    // Few enough a minute that the limiter leases one slot at a time when a plan lowers it.
    company: () => seedCompany(parts.db, { requestsPerMinute: 20_000 }),
    jwtOf: (company) =>
      sign({ companyId: company.companyId, userId: company.userId, role: company.principal.role }),
    async superadminJwt() {
      const { rows } = await parts.db.query<{ id: number }>(
        `INSERT INTO users (company_id, email, name, role, is_superadmin, email_verified_at)
         VALUES (1, $1, 'Root', 'superadmin', true, now())
         ON CONFLICT (lower(email)) DO UPDATE SET name = 'Root' RETURNING id`,
        [SUPERADMIN],
      );
      return sign({ companyId: 1, userId: rows[0]!.id, role: 'superadmin' });
    },
    async startWorker() {
      const broker = createInProcessBroker();
      const worker = await startBillingWorker({
        ...billing,
        bus,
        broker,
        ingestionUrl: `${url}/v1/webhooks/asaas`,
        webhookSecret: WEBHOOK_SECRET,
        eventRetentionDays: config.PROVIDER_EVENT_RETENTION_DAYS,
      });
      const consumer = await consumeEntitlementUpdates({ db: parts.db, broker, clock, log });
      let stopped = false;
      const stop = async () => {
        if (stopped) return;
        stopped = true;
        await worker.stop();
        await consumer.close();
        await broker.close();
      };
      stops.push(stop);
      return stop;
    },
    async close() {
      for (const stop of stops) await stop();
      await server.close();
      await bus.close();
      await orm.close();
      await db.close();
      await parts.close();
    },
  };
}

async function send(url: string, method: string, request: Request = {}): Promise<Answer> {
  const { key, jwt, headers, body, raw } = request;
  const sends = raw !== undefined || body !== undefined;
  const response = await fetch(url, {
    method,
    ...(sends ? { body: raw ?? JSON.stringify(body) } : {}),
    headers: {
      ...(sends ? { 'content-type': 'application/json' } : {}),
      ...(key ? { 'x-api-key': key } : {}),
      ...(jwt ? { authorization: `Bearer ${jwt}` } : {}),
      ...headers,
    },
  });
  const text = await response.text();
  return {
    status: response.status,
    headers: response.headers,
    text,
    body: text === '' ? undefined : JSON.parse(text),
  };
}

/** Valid digits for one test file. */
export const CPF = '52998224725';
export const CNPJ = '11222333000181';
/** A number with a valid check digit, which the searches treat as a person's own. */
export const CARD_NUMBER = '5162306219378829';
export const CARD_CVV = '318';

export const PROFILE = {
  document_type: 'cpf',
  document_number: '529.982.247-25',
  legal_name: 'Maria da Silva',
  trade_name: 'Silva Doces',
  email: 'maria@example.test',
  phone: '+5511999990000',
  address: {
    zip: '01310-100',
    street: 'Avenida Paulista',
    number: '1000',
    complement: null,
    district: 'Bela Vista',
    city: 'São Paulo',
    state: 'SP',
    country: 'BR',
  },
};

/** Valid digits that nobody else has: each document has one trial. */
export function newCpf(): string {
  const digits = Array.from({ length: 9 }, () => randomInt(10));
  for (const length of [9, 10]) {
    const sum = digits.reduce((total, digit, at) => total + digit * (length + 1 - at), 0);
    digits.push(((sum * 10) % 11) % 10);
  }
  return digits.join('');
}

/** A company with a billing profile. */
export async function withProfile(
  billing: TestBilling,
  documentNumber = newCpf(),
): Promise<SeededCompany & { profileId: number }> {
  const company = await billing.company();
  const made = await billing.call('POST', '/v1/billing/profile', {
    key: company.apiKey,
    body: { ...PROFILE, document_number: documentNumber },
  });
  if (made.status !== 201) throw new Error(`no profile: ${made.text}`);
  return { ...company, profileId: made.body.id };
}

/** A company that has just subscribed. */
export async function withSubscription(
  billing: TestBilling,
  body: Record<string, unknown> = {},
): Promise<SeededCompany & { profileId: number; subscription: Answer['body'] }> {
  const company = await withProfile(billing);
  const made = await billing.call('POST', '/v1/billing/subscriptions', {
    key: company.apiKey,
    body: { plan_code: 'starter_monthly', billing_type: 'pix', ...body },
  });
  if (made.status !== 201) throw new Error(`no subscription: ${made.text}`);
  return { ...company, subscription: made.body };
}

/** Runs the steps of billing's worker until nothing is left; for tests that go step by step. */
export async function drainEvents(
  billing: TestBilling,
  told: { countPaymentAfterEnd?: () => void } = {},
): Promise<void> {
  const { listDueEvents, processEvent } = await import(
    '@posthorn/core/billing/provider-events/process-event.ts'
  );
  for (;;) {
    const due = await listDueEvents(billing.billing, 100);
    if (due.length === 0) return;
    for (const id of due) await processEvent({ ...billing.billing, ...told }, id);
  }
}
