import type { NetworkDriver } from '@posthorn/core/network/driver.ts';
import { createWhatsAppDriver, type WhatsAppDriverOptions } from '@posthorn/network/whatsapp/driver.ts';
import { loadLibrary, trustRoot } from '@posthorn/network/whatsapp/library.ts';
import { startWhatsAppNetwork, type WhatsAppNetwork } from './network.ts';

/** A simulated network with a driver that trusts it and logs nothing. */
export async function startNetworkAndDriver(
  more: Pick<WhatsAppDriverOptions, 'clock' | 'sendTimeoutMs' | 'giveUpMs'> = {},
): Promise<{ network: WhatsAppNetwork; driver: NetworkDriver }> {
  const network = await startWhatsAppNetwork();
  trustRoot(await loadLibrary(), network.trustedRoot);
  return { network, driver: newDriver(network, more) };
}

/** Another driver of the network, as another process has it. */
export function newDriver(
  { url, ca }: WhatsAppNetwork,
  more: Pick<WhatsAppDriverOptions, 'clock' | 'sendTimeoutMs' | 'giveUpMs'> = {},
): NetworkDriver {
  const log = { debug() {}, warn() {}, error() {} };
  return createWhatsAppDriver({ url, ca, log, ...more });
}
