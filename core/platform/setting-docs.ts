import type { Config } from './config.ts';

/** The words of a setting; its default is that of the schema. */
export interface SettingDoc {
  meaning: string;
  /** The default where the schema has none. */
  unset?: string;
  /** The default of `npm start` where that is another one. */
  start?: string;
}

/** Every setting, grouped by an operator's purpose: `docs/settings.md` is written from it. */
export const settingGroups = {
  'Start and be reached': {
    NODE_ENV: {
      meaning: '`development`, `test` or `production`: production has secure cookies and https webhooks',
      start: 'development',
    },
    HOST: { meaning: 'the address that the servers listen on, except the sandbox' },
    PORT: { meaning: 'the port of messaging' },
    BILLING_PORT: { meaning: 'the port of billing' },
    WORKER_PORT: {
      meaning: "the port of a worker's /health, /ready and /metrics; without it the worker does not listen",
    },
    PUBLIC_URL: { meaning: 'the URL at which others reach the API' },
    BILLING_PUBLIC_URL: {
      meaning:
        'the URL at which others reach billing; its OpenAPI document names it, and the console asks there',
    },
    FRONTEND_URL: {
      meaning: 'the base URL of the pages that mails link to, and the CORS origin',
      unset: 'the console under `PUBLIC_URL`: http://127.0.0.1:8080/console',
    },
    DATA_DIR: { meaning: 'the folder of mails and media files; `npm start` keeps everything there' },
    SHUTDOWN_DELAY_SECONDS: {
      meaning: 'seconds that messaging and billing keep serving after SIGTERM, so that load balancers notice',
      unset: '5 in production, else 0',
      start: '0',
    },
    SHUTDOWN_GRACE_SECONDS: { meaning: 'seconds that work in progress may take after that' },
  },
  'Keep secrets': {
    JWT_SECRET: { meaning: 'signs sessions; at least 32 characters' },
    JWT_SECRETS_ACCEPTED: {
      meaning:
        'further secrets whose signatures are taken, comma-separated, while `JWT_SECRET` is [changed](operating.md#changing-a-secret)',
    },
    ENCRYPTION_KEY: { meaning: 'encrypts credentials and webhook secrets at rest; 64 hex digits' },
    ENCRYPTION_KEYS_ACCEPTED: {
      meaning:
        'further keys that open what is sealed, comma-separated, while `ENCRYPTION_KEY` is [changed](operating.md#changing-a-secret)',
    },
    INTERNAL_SECRET: { meaning: 'authenticates the services to each other; at least 32 characters' },
  },
  'Use your database and broker': {
    DATABASE_URL: {
      meaning:
        '`postgres://user:password@host:port/database`; several servers of [a cluster](operating.md#a-cluster) as `host:port,host:port`',
    },
    DATABASE_READ_URL: {
      meaning: 'a [standby](operating.md#a-standby-for-reports) from which reports and exports are read',
      unset: 'they are read from `DATABASE_URL`',
    },
    DATABASE_POOL_SIZE: { meaning: 'connections of each process, besides a few dedicated ones' },
    BILLING_DATABASE_URL: {
      meaning: "billing's own database URL",
      unset: '`DATABASE_URL` with the role `posthorn_billing`',
    },
    AMQP_URL: {
      meaning:
        '`amqp://user:password@host:port/vhost`, or `amqps://`; several nodes of [a cluster](operating.md#rabbitmq) as `host:port,host:port`',
    },
  },
  'Choose networks': {
    NETWORK_DRIVERS: {
      meaning:
        'the networks that instances may be on, comma-separated: `sandbox`, `whatsapp` ([guide](guides/whatsapp.md)), `whatsapp-cloud` ([guide](guides/official-number.md)); the first one is the default of an instance',
    },
    WHATSAPP_URL: { meaning: 'the address at which the driver reaches WhatsApp' },
    GRAPH_URL: { meaning: "the address of Meta's Graph API, for `whatsapp-cloud`" },
    GRAPH_VERSION: { meaning: 'the version of the Graph API to use; Meta retires each after two years' },
    GRAPH_STATUS_WAIT_SECONDS: {
      meaning:
        'how long a send on `whatsapp-cloud` whose answer was lost waits for its status, before it fails with `outcome_unknown`; a later status corrects that',
    },
    PACING_MIN_MS: {
      meaning:
        'least time between two sends of an instance, in milliseconds; up to half as much is added at random',
      unset: '0 on the sandbox and on `whatsapp-cloud`, 1000 on `whatsapp`',
    },
    HUMANIZE_MAX_SECONDS: {
      meaning:
        'longest time that a text is typed before it is sent (`humanize_enabled`), in seconds; 0 turns typing off for the whole installation',
      unset: 'no limit; 10 in `npm start` on the sandbox',
    },
    ALLOW_PRIVATE_PROXIES: { meaning: 'proxies of instances may have private addresses', start: 'true' },
  },
  'Try things on the sandbox': {
    SANDBOX_URL: { meaning: 'the address at which the driver reaches the sandbox' },
    SANDBOX_PORT: { meaning: 'the port of the sandbox' },
    SANDBOX_HOST: {
      meaning:
        'the address that the sandbox listens on, whatever `HOST` says: its control API asks for no credentials',
    },
    SANDBOX_ALLOWED_HOSTS: {
      meaning: 'further host names under which its control API answers, comma-separated',
    },
    SANDBOX_WINDOW: {
      meaning: "sends of an instance that may wait for the sandbox's answer at the same time",
    },
    SANDBOX_AUTO_PAIR: { meaning: 'instances pair by themselves, with a fresh number' },
    SANDBOX_KEEP_MESSAGES: {
      meaning: 'the number of newest messages that the sandbox keeps, besides messages under way',
    },
    PLAYGROUND_ENABLED: {
      meaning: 'users may try sends from a shared simulated instance; needs `sandbox` in `NETWORK_DRIVERS`',
      start: 'true',
    },
  },
  'Deliver webhooks and streams': {
    ALLOW_PRIVATE_WEBHOOKS: {
      meaning: 'webhooks may reach private addresses and any port, and use plain http',
      start: 'true',
    },
    STREAMS_PER_COMPANY: { meaning: 'event streams that a company may have open at a time, in each process' },
    STREAMS_PER_KEY: { meaning: 'the same for one key or user' },
  },
  'Send mail': {
    SMTP_URL: { meaning: '`smtp://` or `smtps://`', unset: 'mails are files in `DATA_DIR/mail`' },
    MAIL_FROM: { meaning: 'the sender of mails' },
  },
  'Store and convert media': {
    MEDIA_STORAGE: {
      meaning:
        '`auto`: the bucket of `S3_BUCKET` or `GCS_BUCKET`, else files in `DATA_DIR`; `none`: no media',
    },
    S3_BUCKET: {
      meaning:
        'a bucket of S3, or of any server that speaks its API ([the rights that it needs](operating.md#media)); not together with `GCS_BUCKET`',
    },
    S3_ENDPOINT: { meaning: 'the URL of that server', unset: 'S3 itself' },
    S3_REGION: { meaning: 'the region of the bucket' },
    S3_FORCE_PATH_STYLE: {
      meaning: 'the bucket is named in the path and not in the host name, as many servers ask for',
    },
    S3_ACCESS_KEY_ID: {
      meaning: 'the key that requests are signed with; required with `S3_SECRET_ACCESS_KEY`',
      unset: 'where the AWS SDK looks: `AWS_ACCESS_KEY_ID`, `~/.aws`, the role of the machine',
    },
    S3_SECRET_ACCESS_KEY: { meaning: 'the secret of that key' },
    S3_SERVER_SIDE_ENCRYPTION: {
      meaning: 'the encryption that each upload asks the bucket for: `AES256` or `aws:kms`',
      unset: 'as the bucket is set up',
    },
    GCS_BUCKET: { meaning: 'a bucket of Google Cloud Storage; not together with `S3_BUCKET`' },
    GCS_PROJECT_ID: { meaning: 'the project of the bucket' },
    GCS_API_ENDPOINT: {
      meaning: 'another server that speaks the API of Google Cloud Storage, used without credentials',
    },
    MEDIA_RETENTION_DAYS: { meaning: 'days that stored media are kept' },
    MESSAGE_RETENTION_DAYS: {
      meaning:
        'minimum number of days that messages are kept, 30 or more; they are removed by whole months. A plan can set its own number',
      unset: 'for ever',
    },
    MESSAGE_ARCHIVE: { meaning: 'whether messages are archived in the storage before they are removed' },
    MEDIA_MEMORY_MB: { meaning: 'memory for media bodies in each process, in MB' },
    MEDIA_SPOOL_MB: {
      meaning: 'disk space for incoming media in each process, in MB: less than `DATA_DIR` has free',
    },
    MEDIA_PRIVATE_HOSTS: {
      meaning: 'private servers from which media may be fetched: `host:port`, comma-separated',
    },
    HTTP_TIMEOUT: { meaning: 'longest time for fetching media by URL, in seconds' },
    FFMPEG_PATH: {
      meaning: 'the ffmpeg program, 5.1 or newer; without any, voice notes and GIFs fail',
      unset: 'the one on `PATH`, else the one that npm downloaded',
    },
  },
  'Limit requests': {
    RATE_LIMIT_PER_MINUTE: { meaning: 'requests a minute of a company without a plan' },
    PUBLIC_RATE_PER_MINUTE: {
      meaning:
        'requests a minute of an address to each route without a credential; its wrong credentials have the same limit',
    },
    TRANSFER_GRACE_SECONDS: { meaning: 'seconds that a request or an answer may stall' },
    TRANSFER_MIN_BYTES_PER_SECOND: {
      meaning: 'average rate that it must reach after that, in bytes a second',
    },
  },
  'Sign in': {
    SUPERADMIN_EMAILS: { meaning: 'e-mail addresses that may be superadmin of company 1, comma-separated' },
    PASSWORD_RESET_TTL: { meaning: 'lifetime of a link that resets a password, in minutes' },
    REFRESH_TTL_DAYS: { meaning: 'days after which an unused session ends' },
    SESSION_MAX_DAYS: { meaning: 'days after its login that a session ends, however much it is used' },
    OAUTH_FRONTEND_REDIRECT_URL: {
      meaning: 'the base URL of the pages of social login',
      unset: '`FRONTEND_URL`',
    },
    OAUTH_GOOGLE_ENABLED: { meaning: 'users may log in with Google, once its id and secret are set' },
    OAUTH_GOOGLE_CLIENT_ID: { meaning: 'the client as Google knows it' },
    OAUTH_GOOGLE_CLIENT_SECRET: { meaning: 'the secret of that client' },
    OAUTH_GOOGLE_REDIRECT_URL: {
      meaning: 'the callback as Google knows it',
      unset: '`PUBLIC_URL`, then `/v1/auth/oauth/google/callback`',
    },
    OAUTH_GOOGLE_ISSUER: { meaning: 'the OpenID provider behind `google`' },
    OAUTH_GITHUB_ENABLED: { meaning: 'users may log in with GitHub, once its id and secret are set' },
    OAUTH_GITHUB_CLIENT_ID: { meaning: 'the client as GitHub knows it' },
    OAUTH_GITHUB_CLIENT_SECRET: { meaning: 'the secret of that client' },
    OAUTH_GITHUB_REDIRECT_URL: {
      meaning: 'the callback as GitHub knows it',
      unset: '`PUBLIC_URL`, then `/v1/auth/oauth/github/callback`',
    },
    OAUTH_GITHUB_URL: { meaning: 'GitHub itself, or a GitHub Enterprise' },
    OAUTH_GITHUB_API_URL: { meaning: 'its API' },
    AUDIT_RETENTION_DAYS: { meaning: 'days that entries of the audit log are kept, 30 or more' },
  },
  'Take payments': {
    BILLING_INTERNAL_URL: {
      meaning: 'the URL at which messaging reaches billing; without it deleting an account answers 502',
    },
    ASAAS_API_KEY: { meaning: 'the API key of Asaas; setting it makes Asaas the payment provider' },
    ASAAS_WEBHOOK_SECRET: { meaning: "authenticates Asaas's webhooks; required with its key" },
    ASAAS_BASE_URL: { meaning: 'the URL of the Asaas API, when it is not the one that the key belongs to' },
    BILLING_SIMULATED: {
      meaning:
        'whether billing without `ASAAS_API_KEY` may start in production, on a simulated provider that moves no money. Outside production it always may',
      start: 'true',
    },
    PROVIDER_EVENT_RETENTION_DAYS: {
      meaning:
        'days that events of the provider are kept after they were processed, 30 or more; what was not processed stays',
    },
  },
  'Stand behind proxies': {
    TRUSTED_PROXIES: { meaning: 'addresses and ranges whose `X-Forwarded-For` is trusted, comma-separated' },
    EGRESS_IPS: {
      meaning:
        'the addresses from which others see this installation, comma-separated; `GET /v1/admin/ip-reputation` checks them',
    },
    REPUTATION_ZONES: {
      meaning: 'the DNS lists of bad addresses that it asks, comma-separated, e.g. `zen.spamhaus.org`',
    },
    REPUTATION_RESOLVER: {
      meaning:
        'the DNS servers that it asks through, comma-separated, e.g. `127.0.0.1:5353`; many lists refuse public resolvers',
      unset: "the system's",
    },
  },
  Observe: {
    LOG_LEVEL: { meaning: '`fatal` to `trace`, or `silent`', start: 'warn' },
    OTEL_EXPORTER_OTLP_ENDPOINT: {
      meaning:
        'the OpenTelemetry collector that gets traces, by OTLP over HTTP ([what is in them](operating.md#traces))',
      unset: 'no traces',
    },
    OTEL_TRACES_SAMPLER_ARG: { meaning: 'the share of traces to send, from 0 to 1' },
    METRICS_TOKEN: { meaning: 'the token for `/metrics`; without it only this machine may read them' },
  },
} satisfies Record<string, Partial<Record<keyof Config, SettingDoc>>>;
