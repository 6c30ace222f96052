import { isIP } from 'node:net';
import {
  DEFAULT_REQUESTS_PER_MINUTE,
  MEDIA_FETCH_TIMEOUT_S,
  MEDIA_RETENTION_DAYS,
  PASSWORD_RESET_LIFETIME_MINUTES,
} from '@posthorn/contract/limits.ts';
import { z } from 'zod/v4';
import { amqpUrl } from './broker/broker-url.ts';
import { consoleUrl } from './console-url.ts';
import { databaseUrl } from './database/cluster-url.ts';
import {
  addressRanges,
  bucketName,
  days,
  ENCRYPTION_KEY_FORM,
  flag,
  HOST_NAME,
  isHostAndPort,
  isServerAddress,
  listenAddress,
  listOf,
  MAILBOX,
  numberOf,
  oneOf,
  port,
  positive,
  SENDER,
  seconds,
  smtpUrl,
  socketUrl,
  standbyUrl,
  textOf,
  webUrl,
  wholeOf,
} from './setting-kinds.ts';

const DRIVER_NAMES = ['sandbox', 'whatsapp', 'whatsapp-cloud'] as const;
export type DriverName = (typeof DRIVER_NAMES)[number];

const networkDrivers = z
  .string()
  .default('sandbox')
  .transform((list, context): DriverName[] => {
    const given = [...new Set(list.split(',').map((text) => text.trim()))].filter(Boolean);
    const known = DRIVER_NAMES.filter((name) => given.includes(name));
    if (known.length < given.length || known.length === 0)
      context.addIssue(`must be ${DRIVER_NAMES.join(' or ')}, separated by commas`);
    return known.sort((one, other) => given.indexOf(one) - given.indexOf(other));
  });

/**
 * Every setting of every role, read from the environment once, at start (ERR-16). Each variable replaces one
 * embedded part by the real one, independently of the others.
 */
export const configSchema = z.object({
  NODE_ENV: oneOf(['development', 'test', 'production']).default('production'),
  /** The collector of traces; without it none are made. */
  OTEL_EXPORTER_OTLP_ENDPOINT: webUrl.optional(),
  /** The share of traces that are sent. */
  OTEL_TRACES_SAMPLER_ARG: numberOf(0, 1).default(1),
  LOG_LEVEL: oneOf(['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent']).default('info'),
  /** Address the HTTP servers listen on. */
  HOST: listenAddress.default('127.0.0.1'),
  PORT: port.default(8080),
  BILLING_PORT: port.default(8081),
  SANDBOX_PORT: port.default(8090),
  /** Not HOST: opening the API to the network must not open this, which asks for no credentials. */
  SANDBOX_HOST: listenAddress.default('127.0.0.1'),
  /** Host names, besides those of this machine, under which the sandbox's control API answers; comma-separated. */
  SANDBOX_ALLOWED_HOSTS: z.string().default(''),
  /** Port of a worker's own /health, /ready and /metrics; without it the worker does not listen. */
  WORKER_PORT: port.optional(),
  DATA_DIR: z.string().min(1).default('.data'),
  DATABASE_URL: databaseUrl,
  /** A standby of it, for reports and exports. */
  DATABASE_READ_URL: standbyUrl.optional(),
  /** Connections of each process to PostgreSQL, the few dedicated ones aside. */
  DATABASE_POOL_SIZE: positive.default(12),
  AMQP_URL: amqpUrl,
  /** The networks that instances may be on, comma-separated; the first is that of an instance that names none. */
  NETWORK_DRIVERS: networkDrivers,
  SANDBOX_URL: socketUrl.default('ws://127.0.0.1:8090/ws'),
  /** Sends of an instance that the sandbox has not answered yet. */
  SANDBOX_WINDOW: positive.default(32),
  SANDBOX_AUTO_PAIR: flag.default(true),
  SANDBOX_KEEP_MESSAGES: positive.default(20_000),
  /** The WebSocket address of the WhatsApp network; another one only where that can't be reached. */
  WHATSAPP_URL: socketUrl.default('wss://web.whatsapp.com/ws/chat'),
  /** Meta's Graph API; another server that speaks it only for tests and trials. */
  GRAPH_URL: webUrl.default('https://graph.facebook.com'),
  GRAPH_VERSION: z
    .string()
    .regex(/^v\d{1,3}\.\d$/, 'must be a version like v26.0')
    .default('v26.0'),
  GRAPH_STATUS_WAIT_SECONDS: seconds.default(900),
  /** Lets the proxies of instances stand at private addresses. */
  ALLOW_PRIVATE_PROXIES: flag.default(false),
  /** Users may try sends from a shared instance of the sandbox. */
  PLAYGROUND_ENABLED: flag.default(false),
  /** Least time between two sends of an instance; the default depends on the network. */
  PACING_MIN_MS: wholeOf(0, 600_000).optional(),
  /** The longest time that a text is typed before it is sent; 0: none is, and without it there is no limit. */
  HUMANIZE_MAX_SECONDS: numberOf(0, 86_400).optional(),
  JWT_SECRET: textOf(32),
  /** Further secrets whose signatures are taken: the next one, or the last one. */
  JWT_SECRETS_ACCEPTED: listOf((text) => text.length >= 32, 'secrets of at least 32 characters'),
  /** Encrypts credentials and webhook secrets at rest: 32 bytes, as 64 hex digits. */
  ENCRYPTION_KEY: z.string().regex(ENCRYPTION_KEY_FORM, 'must be 64 hex digits (32 bytes)'),
  /** Further keys that open what is sealed: the next one, or the last one. */
  ENCRYPTION_KEYS_ACCEPTED: listOf((text) => ENCRYPTION_KEY_FORM.test(text), '64 hex digits each'),
  PUBLIC_URL: webUrl.default('http://127.0.0.1:8080'),
  /** The same of the billing service: the server that its OpenAPI document names. */
  BILLING_PUBLIC_URL: webUrl.default('http://127.0.0.1:8081'),
  /** Without one, our own console: PUBLIC_URL and `/console`. */
  FRONTEND_URL: webUrl.optional(),
  /** E-mail addresses, comma-separated, that may be superadmin of company 1. */
  SUPERADMIN_EMAILS: listOf((text) => MAILBOX.test(text), 'e-mail addresses').transform((emails) =>
    emails.map((email) => email.toLowerCase()),
  ),
  SMTP_URL: smtpUrl.optional(),
  MAIL_FROM: z
    .string()
    .regex(SENDER, 'must be an address like name@example.com, or Name <name@example.com>')
    .default('Posthorn <no-reply@posthorn.local>'),
  /** Lets webhooks reach private addresses and any port: for webhooks to localhost in standalone. */
  ALLOW_PRIVATE_WEBHOOKS: flag.default(false),
  HTTP_TIMEOUT: seconds.default(MEDIA_FETCH_TIMEOUT_S).describe('seconds'),
  /** `none` answers 503 to everything that needs media; else the bucket that is named, or files in DATA_DIR. */
  MEDIA_STORAGE: oneOf(['auto', 'none']).default('auto'),
  GCS_BUCKET: bucketName.optional(),
  /** Another server that speaks the API of Google Cloud Storage, asked without credentials. */
  GCS_API_ENDPOINT: webUrl.optional(),
  GCS_PROJECT_ID: z.string().min(1).optional(),
  /** A bucket of S3, or of S3_ENDPOINT; not together with GCS_BUCKET. */
  S3_BUCKET: bucketName.optional(),
  /** Another server that speaks the API of S3. */
  S3_ENDPOINT: webUrl.optional(),
  S3_REGION: z.string().min(1).default('us-east-1'),
  /** The bucket stands in the path and not in the host name. */
  S3_FORCE_PATH_STYLE: flag.default(false),
  /** Without them the AWS SDK looks for credentials where it always does. */
  S3_ACCESS_KEY_ID: z.string().min(1).optional(),
  S3_SECRET_ACCESS_KEY: z.string().min(1).optional(),
  S3_SERVER_SIDE_ENCRYPTION: oneOf(['AES256', 'aws:kms']).optional(),
  MEDIA_RETENTION_DAYS: days.default(MEDIA_RETENTION_DAYS),
  /** Shorter than a network may hold a message back, one would be taken for new when it comes again. */
  MESSAGE_RETENTION_DAYS: wholeOf(30, 36_500).optional(),
  MESSAGE_ARCHIVE: flag.default(true),
  MEDIA_MEMORY_MB: positive.default(128),
  MEDIA_SPOOL_MB: positive.default(8192),
  MEDIA_PRIVATE_HOSTS: listOf(isHostAndPort, 'host:port').transform((hosts) =>
    hosts.map((host) => host.toLowerCase()),
  ),
  /** The ffmpeg program; without it one is looked for on PATH. */
  FFMPEG_PATH: z.string().min(1).optional(),
  /** A year at most: a date that is computed with more may be out of range, and then no such link can be made. */
  PASSWORD_RESET_TTL: wholeOf(1, 525_600).default(PASSWORD_RESET_LIFETIME_MINUTES).describe('minutes'),
  /** Days after which an unused session ends. */
  REFRESH_TTL_DAYS: days.default(30),
  /** Days after its login that a session ends, however much it is used. */
  SESSION_MAX_DAYS: days.default(90),
  /** The log is evidence: who looks into a break-in looks back for months. */
  AUDIT_RETENTION_DAYS: wholeOf(30, 36_500).default(400),
  /** Where messaging reaches billing, to cancel what a deleted company still pays for. */
  BILLING_INTERNAL_URL: webUrl.optional(),
  /** Billing's own database URL; the default is DATABASE_URL with the role posthorn_billing. */
  BILLING_DATABASE_URL: databaseUrl.optional(),
  /** Selects Asaas as the payment provider. */
  ASAAS_API_KEY: z.string().min(1).optional(),
  /** Without a key: billing runs on a simulated provider, with which no money moves. The default outside production. */
  BILLING_SIMULATED: flag.default(false),
  /** Default: production for keys that begin with $aact_prod_, the sandbox for others. */
  ASAAS_BASE_URL: webUrl.optional(),
  /** Authenticates the provider's webhooks; required with ASAAS_API_KEY. */
  ASAAS_WEBHOOK_SECRET: z.string().min(1).optional(),
  /** Shorter than the provider repeats its events, a repeated one would be taken for new. */
  PROVIDER_EVENT_RETENTION_DAYS: wholeOf(30, 36_500).default(400),
  /** Authenticates the services to each other. */
  INTERNAL_SECRET: textOf(32).optional(),
  /** Base URL of the pages that OAuth redirects lead to; the default is FRONTEND_URL. */
  OAUTH_FRONTEND_REDIRECT_URL: webUrl.optional(),
  OAUTH_GOOGLE_ENABLED: flag.default(false),
  OAUTH_GOOGLE_CLIENT_ID: z.string().optional(),
  OAUTH_GOOGLE_CLIENT_SECRET: z.string().optional(),
  OAUTH_GOOGLE_REDIRECT_URL: webUrl.optional(),
  /** The OpenID provider behind `google`; another one only where Google can't be reached. */
  OAUTH_GOOGLE_ISSUER: webUrl.default('https://accounts.google.com'),
  OAUTH_GITHUB_ENABLED: flag.default(false),
  OAUTH_GITHUB_CLIENT_ID: z.string().optional(),
  OAUTH_GITHUB_CLIENT_SECRET: z.string().optional(),
  OAUTH_GITHUB_REDIRECT_URL: webUrl.optional(),
  /** GitHub itself and its API; others for GitHub Enterprise. */
  OAUTH_GITHUB_URL: webUrl.default('https://github.com'),
  OAUTH_GITHUB_API_URL: webUrl.default('https://api.github.com'),
  /** Requests per minute of a company without a plan (LIM-1). */
  RATE_LIMIT_PER_MINUTE: positive.default(DEFAULT_REQUESTS_PER_MINUTE),
  /** Requests per minute of an address to each route that takes no credential, and wrong credentials of it. */
  PUBLIC_RATE_PER_MINUTE: positive.default(20),
  /** The addresses from which this installation reaches others, for GET /v1/admin/ip-reputation. */
  EGRESS_IPS: listOf((text) => isIP(text) !== 0, 'IP addresses'),
  /** The DNS lists of bad addresses that it asks. */
  REPUTATION_ZONES: listOf((text) => text.length <= 180 && HOST_NAME.test(text), 'domain names'),
  /** The DNS servers that it asks through; the system's without it. */
  REPUTATION_RESOLVER: listOf(isServerAddress, 'IP addresses, with a port where it is not 53'),
  /** The token for /metrics; without it only this machine may read it. */
  METRICS_TOKEN: textOf(16).optional(),
  /** Proxies whose X-Forwarded-For is trusted. */
  TRUSTED_PROXIES: addressRanges,
  /** Event streams that a company, and one key or user of it, may have open in each process. */
  STREAMS_PER_COMPANY: positive.default(200),
  STREAMS_PER_KEY: positive.default(50),
  /** How long a request or an answer may stall before its connection is closed. */
  TRANSFER_GRACE_SECONDS: seconds.default(15),
  /** The average rate that requests and answers must reach beyond that, in bytes a second. */
  TRANSFER_MIN_BYTES_PER_SECOND: positive.default(16 * 1024),
  /** How long messaging and billing serve as before after SIGTERM, while /ready says that they drain. */
  SHUTDOWN_DELAY_SECONDS: numberOf(0, 3_600).optional(),
  /** How long work in progress may take after that. */
  SHUTDOWN_GRACE_SECONDS: seconds.default(10),
});

export type Config = z.output<typeof configSchema> & { FRONTEND_URL: string };

/** A setting is missing or wrong. The message is one line that names it. */
export class ConfigError extends Error {
  override name = 'ConfigError';
}

export type Environment = Readonly<Record<string, string | undefined>>;

/** Reads the settings; throws {@link ConfigError} for the first one that is missing, wrong, or against another. */
export function loadConfig(env: Environment): Config {
  const config = readSettings(configSchema, env);
  if (config.GCS_BUCKET && config.S3_BUCKET)
    throw new ConfigError('S3_BUCKET: media is stored in one bucket, and GCS_BUCKET names another');
  if (config.S3_ACCESS_KEY_ID && !config.S3_SECRET_ACCESS_KEY)
    throw new ConfigError('S3_SECRET_ACCESS_KEY is required with S3_ACCESS_KEY_ID');
  if (config.S3_SECRET_ACCESS_KEY && !config.S3_ACCESS_KEY_ID)
    throw new ConfigError('S3_ACCESS_KEY_ID is required with S3_SECRET_ACCESS_KEY');
  return { ...config, FRONTEND_URL: config.FRONTEND_URL ?? consoleUrl(config.PUBLIC_URL).href };
}

/** The one setting that migrating takes; throws as {@link loadConfig} does. */
export function loadDatabaseUrl(env: Environment): string {
  return readSettings(configSchema.pick({ DATABASE_URL: true }), env).DATABASE_URL;
}

/** Reads what `schema`, a part of {@link configSchema}, has; throws as {@link loadConfig} does. */
export function readSettings<T extends z.ZodType>(schema: T, env: Environment): z.output<T> {
  const given = onlyGiven(env);
  const parsed = schema.safeParse(given);
  if (parsed.success) return parsed.data;
  const issue = parsed.error.issues[0]!;
  const name = issue.path.join('.');
  throw new ConfigError(given[name] === undefined ? `${name} is required` : `${name}: ${issue.message}`);
}

/** An empty value, as env files have them, counts as none. */
export function onlyGiven(env: Environment): Record<string, string> {
  return Object.fromEntries(
    Object.entries(env).filter((entry): entry is [string, string] => Boolean(entry[1]?.trim())),
  );
}
