import type { Clock } from '@posthorn/core/platform/clock.ts';
import type { Config } from '@posthorn/core/platform/config.ts';
import type { Log } from '@posthorn/core/platform/log.ts';
import type { NetworkDriver } from '@posthorn/network/driver.ts';
import { createSandboxDriver } from '@posthorn/network/sandbox/driver.ts';

/** Where the setting names none: real networks watch for accounts that send like machines (SND-39). */
const PACING_MIN_MS: Record<Config['NETWORK_DRIVER'], number> = { sandbox: 0 };

/** The least distance between two sends of one instance. */
export function pacingMinMsOf(config: Pick<Config, 'NETWORK_DRIVER' | 'PACING_MIN_MS'>): number {
  return config.PACING_MIN_MS ?? PACING_MIN_MS[config.NETWORK_DRIVER];
}

/** The driver that NETWORK_DRIVER names. */
export function createNetworkDriver(
  parts: { clock: Clock; log: Log },
  config: Pick<Config, 'NETWORK_DRIVER' | 'SANDBOX_URL' | 'SANDBOX_WINDOW'>,
): NetworkDriver {
  switch (config.NETWORK_DRIVER) {
    case 'sandbox':
      return createSandboxDriver({ ...parts, url: config.SANDBOX_URL, window: config.SANDBOX_WINDOW });
  }
}
