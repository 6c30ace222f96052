import type { Clock } from '@posthorn/core/platform/clock.ts';
import type { Config } from '@posthorn/core/platform/config.ts';
import type { Log } from '@posthorn/core/platform/log.ts';
import type { NetworkDriver } from '@posthorn/network/driver.ts';
import { createSandboxDriver } from '@posthorn/network/sandbox/driver.ts';

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
