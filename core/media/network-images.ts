import type { Config } from '../platform/config.ts';
import { MINUTE_MS } from '../platform/durations.ts';
import { hashKey } from '../platform/hashes.ts';
import { createOutbound } from '../platform/http/outbound-http.ts';
import type { Clock } from '../platform/process/clock.ts';
import { createCompanyLimiter } from '../platform/process/company-limiter.ts';
import type { MediaFinder } from './find-media.ts';
import type { MediaDeps } from './media-deps.ts';
import type { MediaScope } from './media-port.ts';
import { createMediaSources } from './media-sources.ts';

/** Pictures that a network tells of by address: products of a catalog, pictures of profiles. */
export interface NetworkImages {
  /**
   * The media ids of those that could be had, by address: fetched, checked to be pictures and kept for 7 days, or kept
   * already. An address that fails, takes too long, leads to a private address or gives no picture is not among them;
   * nothing is thrown for it. Takes 10 seconds at most.
   */
  keep(scope: MediaScope, urls: Iterable<string>): Promise<Map<string, string>>;
  close(): Promise<void>;
}

const ONE_TIMEOUT_MS = 5_000;
const ALL_TIMEOUT_MS = 10_000;
const MAX_BYTES = 5 * 1024 * 1024;
/** Pictures of one answer; further entries of the network have none. */
const PER_ANSWER_MAX = 200;
/** Fetches of one company, and of the process: servers that hang hold up the pictures of who asked for them. */
const AT_ONCE = 6;
const AT_ONCE_IN_ALL = 96;
/** An address that failed is not tried again for so long; so many are remembered. */
const FAILED_MS = MINUTE_MS;
const FAILED_MAX = 5_000;

export function createNetworkImages(
  deps: MediaDeps & { finder: MediaFinder },
  config: Pick<Config, 'MEDIA_PRIVATE_HOSTS' | 'NETWORK_DRIVERS' | 'SANDBOX_URL'>,
): NetworkImages {
  // Addresses from users must not lead to a network's own servers; addresses from the network always do.
  const outbound = createOutbound({
    allowPrivate: false,
    allowHosts: [...config.MEDIA_PRIVATE_HOSTS, ...sandboxHosts(config)],
    connectionsPerOrigin: AT_ONCE_IN_ALL,
    connectTimeoutMs: ONE_TIMEOUT_MS,
  });
  const sources = createMediaSources({
    ...deps,
    outbound,
    fetchTimeoutMs: ONE_TIMEOUT_MS,
    fetchMaxBytes: MAX_BYTES,
  });
  const limiter = createCompanyLimiter({ each: AT_ONCE, all: AT_ONCE_IN_ALL });
  const failures = createFailures(deps.clock);

  async function keepOne(scope: MediaScope, url: string, signal: AbortSignal): Promise<string | null> {
    const key = hashKey(scope.instanceId, url);
    if (failures.has(key)) return null;
    try {
      const fetch = () => sources.fromUrl(scope, url, 'image', { signal });
      const fetched = await limiter.run(scope.companyId, fetch, signal);
      return fetched.mediaId;
    } catch {
      // It had its time, unless this answer ran out of its own first.
      if (!signal.aborted) failures.add(key);
      return null;
    }
  }

  return {
    async keep(scope, urls) {
      const kept = new Map<string, string>();
      const waiting = [...new Set(urls)].filter((url) => url !== '').slice(0, PER_ANSWER_MAX);
      const signal = AbortSignal.timeout(ALL_TIMEOUT_MS);
      const fetchNext = async () => {
        for (let url = waiting.shift(); url !== undefined && !signal.aborted; url = waiting.shift()) {
          const mediaId = await keepOne(scope, url, signal);
          if (mediaId !== null) kept.set(url, mediaId);
        }
      };
      await Promise.all(Array.from({ length: AT_ONCE }, fetchNext));
      return kept;
    },
    close: () => outbound.close(),
  };
}

/** The sandbox's CDN is beside its WebSocket, usually on this machine. */
function sandboxHosts(config: Pick<Config, 'NETWORK_DRIVERS' | 'SANDBOX_URL'>): string[] {
  if (!config.NETWORK_DRIVERS.includes('sandbox')) return [];
  const { hostname, port, protocol } = new URL(config.SANDBOX_URL);
  return [`${hostname}:${port || (protocol === 'wss:' ? '443' : '80')}`];
}

/** Remembers the newest failures for a while. */
function createFailures(clock: Clock) {
  const failedAt = new Map<string, number>();
  return {
    has(key: string): boolean {
      const at = failedAt.get(key);
      if (at === undefined || clock.now().getTime() - at < FAILED_MS) return at !== undefined;
      failedAt.delete(key);
      return false;
    },
    add(key: string): void {
      failedAt.delete(key);
      failedAt.set(key, clock.now().getTime());
      const [oldest] = failedAt.keys();
      if (failedAt.size > FAILED_MAX && oldest !== undefined) failedAt.delete(oldest);
    },
  };
}
