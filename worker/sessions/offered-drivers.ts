import { type NetworkDriver, SendUnavailable } from '@posthorn/core/network/driver.ts';

/**
 * The drivers of this installation by name. An instance may be on a network that is no longer among
 * NETWORK_DRIVERS: its session cannot be opened, and its users see the reason.
 */
export function offeredDrivers(drivers: readonly NetworkDriver[]): (name: string) => NetworkDriver {
  const offered = new Map(drivers.map((driver) => [driver.name, driver]));
  return (name) => offered.get(name) ?? notOffered(name);
}

function notOffered(name: string): NetworkDriver {
  return {
    name,
    can: new Set(),
    dedupes: false,
    window: 1,
    async open() {
      throw new SendUnavailable(`the network ${name} is not among the NETWORK_DRIVERS of this installation`);
    },
  };
}
