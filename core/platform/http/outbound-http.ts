import { promises as dns } from 'node:dns';
import { createRequire } from 'node:module';
import { isIP, type LookupFunction } from 'node:net';
import type { Dispatcher, Pool } from 'undici';
import { isPrivateAddress } from './address-ranges.ts';

/** Why a request got no answer. `blocked`: it would have reached a private address or a closed port. */
export type OutboundFault = 'timeout' | 'connection' | 'tls' | 'dns' | 'blocked';

export class OutboundError extends Error {
  override name = 'OutboundError';
  readonly fault: OutboundFault;

  constructor(fault: OutboundFault, message: string, options?: ErrorOptions) {
    super(message, options);
    this.fault = fault;
  }
}

/** Resolves a host name to all of its addresses. */
export type Resolver = (hostname: string) => Promise<string[]>;

export interface OutboundOptions {
  /** Private addresses and any port are allowed: for webhooks to localhost in standalone. */
  allowPrivate: boolean;
  /** `host:port` of private servers that may be reached nevertheless, e.g. a file server of the operator. */
  allowHosts?: readonly string[];
  /** Domains that are never reached, subdomains included. */
  refuseDomains?: readonly string[];
  resolver?: Resolver;
  /** Connections to one origin at most. Default 64. */
  connectionsPerOrigin?: number;
  /** Default 10 s. */
  connectTimeoutMs?: number;
}

/** HTTP to addresses that users name: every connection goes only to an address that was checked. */
export interface Outbound {
  /**
   * The connections to the origin of `url`. Throws OutboundError `blocked` for a scheme, port or literal address
   * that is not allowed; a name is checked when a connection is made, and the connection goes to the very addresses
   * that were checked (no second look-up that could answer differently).
   */
  to(url: URL): Dispatcher;
  /** The same check ahead of time, with a look-up: null when the URL may be reached. */
  judge(url: URL): Promise<OutboundError | null>;
  close(): Promise<void>;
}

const PRODUCTION_PORTS = new Set(['', '80', '443', '8080', '8443']);
const RESOLVED_MS = 10_000;
const RESOLVED_MAX = 10_000;
const POOL_IDLE_MS = 60_000;
/** For the client, which a process that reaches nobody does without. */
const load = createRequire(import.meta.url);

// long: the judgement of addresses and the pools are one: no pool may outlive its judgement
export function createOutbound(options: OutboundOptions): Outbound {
  const { allowPrivate, refuseDomains = [] } = options;
  const allowHosts = new Set(options.allowHosts);
  const resolve = remember(options.resolver ?? defaultResolver(allowPrivate));
  const resolveAllowed = remember(options.resolver ?? defaultResolver(true));
  const pools = new Map<string, { pool: Pool; usedAt: number }>();

  async function addressesOf(hostname: string): Promise<string[]> {
    const addresses = await resolve(hostname);
    // One private address taints them all: which one a client picks must not matter.
    if (!allowPrivate && addresses.some(isPrivateAddress))
      throw new OutboundError('blocked', 'the name resolves to a private address');
    return addresses;
  }

  const lookup: LookupFunction = (hostname, options, callback) =>
    answerLookup(addressesOf(hostname), options, callback);
  const lookupUnjudged: LookupFunction = (hostname, options, callback) =>
    answerLookup(resolveAllowed(hostname), options, callback);

  function answerLookup(
    looking: Promise<string[]>,
    { all }: Parameters<LookupFunction>[1],
    callback: Parameters<LookupFunction>[2],
  ): void {
    looking.then(
      (addresses) => {
        const found = addresses.map((address) => ({ address, family: isIP(address) }));
        if (all) callback(null, found);
        else callback(null, found[0]!.address, found[0]!.family);
      },
      (err) => callback(err, []),
    );
  }

  /** Named by the operator, port included. */
  function isAllowed(url: URL): boolean {
    const port = url.port || (url.protocol === 'https:' ? '443' : '80');
    return allowHosts.has(`${url.hostname}:${port}`);
  }

  function refusal(url: URL): OutboundError | null {
    if (url.protocol !== 'https:' && url.protocol !== 'http:')
      return new OutboundError('blocked', 'only http and https are reached');
    if (isBelow(url.hostname, refuseDomains)) return new OutboundError('blocked', 'this host is not reached');
    if (allowPrivate || isAllowed(url)) return null;
    if (!PRODUCTION_PORTS.has(url.port)) return new OutboundError('blocked', 'this port is not reached');
    const hostname = bareHostname(url);
    // A literal address is never looked up, so it is checked here.
    if (isIP(hostname) ? isPrivateAddress(hostname) : /(^|\.)localhost\.?$/.test(hostname))
      return new OutboundError('blocked', 'private addresses are not reached');
    return null;
  }

  function newPool(url: URL): Pool {
    const { Pool } = load('undici') as typeof import('undici');
    return new Pool(url.origin, {
      connections: options.connectionsPerOrigin ?? 64,
      pipelining: 1,
      allowH2: false,
      connectTimeout: options.connectTimeoutMs ?? 10_000,
      keepAliveTimeout: 10_000,
      keepAliveMaxTimeout: 60_000,
      maxHeaderSize: 16_384,
      connect: { lookup: isAllowed(url) ? lookupUnjudged : lookup },
    });
  }

  const sweep = setInterval(() => {
    const before = performance.now() - POOL_IDLE_MS;
    for (const [origin, entry] of pools) {
      if (entry.usedAt > before || entry.pool.stats.size > 0) continue;
      pools.delete(origin);
      void entry.pool.destroy();
    }
  }, POOL_IDLE_MS / 2);
  sweep.unref();

  return {
    to(url) {
      const refused = refusal(url);
      if (refused) throw refused;
      let entry = pools.get(url.origin);
      if (!entry) {
        entry = { pool: newPool(url), usedAt: 0 };
        pools.set(url.origin, entry);
      }
      entry.usedAt = performance.now();
      return entry.pool;
    },
    async judge(url) {
      const refused = refusal(url);
      if (refused) return refused;
      const hostname = bareHostname(url);
      if (isIP(hostname) || isAllowed(url)) return null;
      return addressesOf(hostname).then(
        () => null,
        (err) => err as OutboundError,
      );
    },
    async close() {
      clearInterval(sweep);
      await Promise.all([...pools.values()].map((entry) => entry.pool.destroy()));
      pools.clear();
    },
  };
}

/** Maps an error of the HTTP client to the fault of the request. */
export function faultOf(err: unknown): OutboundFault {
  for (let cause = err; cause instanceof Error; cause = cause.cause) {
    if (cause instanceof OutboundError) return cause.fault;
    const code = String((cause as { code?: unknown }).code ?? '');
    if (/TIMEOUT|^ETIMEDOUT$/.test(code)) return 'timeout';
    if (/^(CERT_|DEPTH_ZERO|SELF_SIGNED|UNABLE_TO_|ERR_TLS|ERR_SSL|EPROTO|HOSTNAME_MISMATCH)/.test(code))
      return 'tls';
  }
  return 'connection';
}

/** The domain itself or a subdomain; a trailing dot changes nothing. */
function isBelow(hostname: string, domains: readonly string[]): boolean {
  let end = hostname.length;
  while (hostname[end - 1] === '.') end -= 1;
  const name = hostname.slice(0, end).toLowerCase();
  return domains.some((domain) => name === domain || name.endsWith(`.${domain}`));
}

/** Without the brackets of an IPv6 literal. */
function bareHostname(url: URL): string {
  return url.hostname.startsWith('[') ? url.hostname.slice(1, -1) : url.hostname;
}

/**
 * c-ares, not getaddrinfo: that one occupies a thread of the pool that files and crypto share, and a handful of
 * dead name servers would block them all. Only where private names are allowed (hosts file, container names) is it
 * the fallback.
 */
function defaultResolver(allowPrivate: boolean): Resolver {
  const resolver = new dns.Resolver({ timeout: 2_500, tries: 2 });
  return async (hostname) => {
    if (allowPrivate) return (await dns.lookup(hostname, { all: true })).map(({ address }) => address);
    const answers = await Promise.allSettled([resolver.resolve4(hostname), resolver.resolve6(hostname)]);
    const addresses = answers.flatMap((answer) => (answer.status === 'fulfilled' ? answer.value : []));
    if (addresses.length === 0) throw (answers[0] as PromiseRejectedResult).reason;
    return addresses;
  };
}

/** Concurrent connections to one name share one look-up, for seconds. */
function remember(resolver: Resolver): Resolver {
  const known = new Map<string, { until: number; addresses: Promise<string[]> }>();
  return (hostname) => {
    const now = performance.now();
    const entry = known.get(hostname);
    if (entry && entry.until > now) return entry.addresses;
    if (known.size >= RESOLVED_MAX) known.clear();
    const addresses = resolver(hostname).then(
      (found) => {
        if (found.length === 0) throw new OutboundError('dns', 'the name has no address');
        return found;
      },
      (cause) => {
        throw new OutboundError('dns', 'the name does not resolve', { cause });
      },
    );
    addresses.catch(() => undefined);
    known.set(hostname, { until: now + RESOLVED_MS, addresses });
    return addresses;
  };
}
