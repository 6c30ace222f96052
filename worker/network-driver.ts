import { cloudWebhookUrl } from '@posthorn/core/cloud/webhook-url.ts';
import type { NetworkDriver } from '@posthorn/core/network/driver.ts';
import type { Config, DriverName } from '@posthorn/core/platform/config.ts';
import type { Clock } from '@posthorn/core/platform/process/clock.ts';
import type { Log } from '@posthorn/core/platform/process/log.ts';

/** Defaults by driver: real networks look for accounts that send like machines (SND-39). */
const PACING_MIN_MS: Record<DriverName, number> = {
  sandbox: 0,
  whatsapp: 1_000,
  // It is made for machines, and counts itself.
  'whatsapp-cloud': 0,
};

/** Minimum time between two sends of one instance on this network. */
export function pacingMinMsOf(config: Pick<Config, 'PACING_MIN_MS'>, driver: string): number {
  // An instance may be on a network that is no longer offered, where nothing is sent.
  const ofNetwork = (PACING_MIN_MS as Record<string, number | undefined>)[driver] ?? 0;
  return config.PACING_MIN_MS ?? ofNetwork;
}

/** Maximum typing time for a text (SND-38). */
export function typingMaxMsOf({
  HUMANIZE_MAX_SECONDS: seconds,
}: Pick<Config, 'HUMANIZE_MAX_SECONDS'>): number {
  return seconds === undefined ? Number.POSITIVE_INFINITY : seconds * 1_000;
}

type DriverConfig = Pick<
  Config,
  | 'NETWORK_DRIVERS'
  | 'SANDBOX_URL'
  | 'SANDBOX_WINDOW'
  | 'WHATSAPP_URL'
  | 'ALLOW_PRIVATE_PROXIES'
  | 'GRAPH_URL'
  | 'GRAPH_VERSION'
  | 'PUBLIC_URL'
>;

/** The drivers in NETWORK_DRIVERS, the default one first. Only these are loaded. */
export async function createNetworkDrivers(
  parts: { clock: Clock; log: Log },
  config: DriverConfig,
): Promise<{ driver: NetworkDriver; otherDrivers: NetworkDriver[] }> {
  const [driver, ...otherDrivers] = await Promise.all(
    config.NETWORK_DRIVERS.map((name) => createDriver(parts, config, name)),
  );
  return { driver: driver!, otherDrivers };
}

async function createDriver(
  parts: { clock: Clock; log: Log },
  config: DriverConfig,
  name: DriverName,
): Promise<NetworkDriver> {
  switch (name) {
    case 'sandbox': {
      const { createSandboxDriver } = await import('@posthorn/network/sandbox/driver.ts');
      return createSandboxDriver({ ...parts, url: config.SANDBOX_URL, window: config.SANDBOX_WINDOW });
    }
    case 'whatsapp': {
      const { loadLibrary } = await import('@posthorn/network/whatsapp/library.ts');
      // Logged once, not fatal: the other networks work without the library.
      await loadLibrary().catch((err: Error) => parts.log.warn(err.message));
      const { createWhatsAppDriver } = await import('@posthorn/network/whatsapp/driver.ts');
      return createWhatsAppDriver({
        ...parts,
        url: config.WHATSAPP_URL,
        allowPrivateProxies: config.ALLOW_PRIVATE_PROXIES,
      });
    }
    case 'whatsapp-cloud': {
      const { createCloudDriver } = await import('@posthorn/network/whatsapp-cloud/driver.ts');
      return createCloudDriver({
        ...parts,
        graph: { url: config.GRAPH_URL, version: config.GRAPH_VERSION },
        callbackUrl: (instanceId) => cloudWebhookUrl(config.PUBLIC_URL, instanceId),
      });
    }
  }
}
