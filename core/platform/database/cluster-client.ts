import type { EventEmitter } from 'node:events';
import pg from 'pg';
import { type Host, hostsOf } from './cluster-url.ts';
import { asNotConnected } from './database-errors.ts';

/** Asking each server in turn would wait for one that vanished; all are asked, and no answer takes longer. */
const PROBE_MS = 2_000;

type Callback = ((err: Error) => void) | ((err: null, client: pg.ClientBase) => void);

/**
 * A connection to the server that takes writes, of those in its URL: the driver knows one server only. Each new connection
 * asks all servers at once and takes the first that is no standby, so that after a promotion connections that are made anew
 * find the new primary. A primary becomes a standby by a restart, which ends its connections: nothing is asked later.
 */
export class ClusterClient extends pg.Client {
  readonly #config: pg.ClientConfig;
  readonly #hosts: Host[];
  #isEnded = false;

  constructor(config: pg.ClientConfig & { hosts?: Host[] } = {}) {
    super(config);
    this.#config = config;
    this.#hosts = config.hosts ?? (config.connectionString ? hostsOf(config.connectionString) : []);
    // A connection may die before its pool listens, or while it is in use and the pool does not listen: that error
    // would end the process. The holder of the connection learns of it by the next query.
    this.on('error', () => undefined);
  }

  override connect(): Promise<pg.Client>;
  override connect(callback: Callback): void;
  override connect(callback?: Callback): Promise<pg.Client> | undefined {
    const connecting = this.#hosts.length === 0 ? super.connect() : this.#connectToPrimary();
    const connected = connecting.catch((err) => {
      throw asNotConnected(err);
    });
    if (!callback) return connected;
    const tell = callback as (err: Error | null, client?: pg.ClientBase) => void;
    connected.then(
      () => tell(null, this),
      (err: Error) => tell(err),
    );
    return undefined;
  }

  override end(): Promise<void>;
  override end(callback: (err: Error) => void): void;
  override end(callback?: (err: Error) => void): Promise<void> | undefined {
    this.#isEnded = true;
    if (!callback) return super.end();
    super.end(callback);
    return undefined;
  }

  async #connectToPrimary(): Promise<pg.Client> {
    const primary = await findPrimary(this.#config, this.#hosts);
    if (this.#isEnded) throw new Error('Connection terminated');
    Object.assign(this, primary);
    let isStandby = false;
    const { connection } = this as unknown as { connection: EventEmitter };
    connection.on('parameterStatus', ({ parameterName, parameterValue }) => {
      if (parameterName === 'in_hot_standby') isStandby = parameterValue === 'on';
    });
    const connected = await super.connect();
    if (!isStandby) return connected;
    await super.end();
    throw noPrimary(this.#hosts);
  }
}

async function findPrimary(config: pg.ClientConfig, hosts: readonly Host[]): Promise<Host> {
  try {
    return await Promise.any(hosts.map((host) => requirePrimary(config, host)));
  } catch (err) {
    // A fault that all hosts share, such as a wrong password, is reported as it is.
    const causes = (err as AggregateError).errors as (Error & { code?: string })[];
    throw causes.find(({ code }) => code?.startsWith('28') || code === '3D000') ?? noPrimary(hosts, causes);
  }
}

async function requirePrimary(config: pg.ClientConfig, host: Host): Promise<Host> {
  const { connectionString, ...others } = config;
  const url = connectionString ? new URL(connectionString) : null;
  const client = new pg.Client({
    ...others,
    ...(url ? { connectionString: atHost(url, host) } : host),
    connectionTimeoutMillis: PROBE_MS,
    query_timeout: PROBE_MS,
  });
  client.on('error', () => undefined);
  try {
    await client.connect();
    const { rows } = await client.query('SELECT pg_is_in_recovery() AS is_standby');
    if (rows[0].is_standby) throw noPrimary([host]);
    return host;
  } finally {
    client.end().catch(() => undefined);
  }
}

function atHost(url: URL, { host, port }: Host): string {
  const there = new URL(url);
  there.hostname = host.includes(':') ? `[${host}]` : host;
  there.port = String(port);
  return there.href;
}

/** The code is what a standby answers to a write: the request may be tried again. */
function noPrimary(hosts: readonly Host[], causes: readonly Error[] = []): Error {
  const names = hosts.map(({ host, port }) => `${host}:${port}`).join(', ');
  return Object.assign(new Error(`no server takes writes: ${names}`, { cause: causes[0] }), {
    code: '25006',
  });
}
