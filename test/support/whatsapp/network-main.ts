import { startWhatsAppNetwork } from './network.ts';
import type { PhoneHandle } from './phone-handle.ts';

/**
 * The simulated network in a process of its own, for tests that measure the driver's. It is told over the channel of
 * `fork`: to pair the device that shows a QR code with a new phone, and to count.
 */
export type ToNetwork = { ask: 'pair'; qr: string } | { ask: 'count' };
export type FromNetwork =
  | { url: string; ca: string; root: string }
  | { paired: string }
  | { loggedIn: number; received: number; failures: number; problems: readonly string[] };

const network = await startWhatsAppNetwork();
const phones: PhoneHandle[] = [];
/** Whom all the others write to. */
const friend = network.phone('999100000000');
const answer = (message: FromNetwork) => process.send?.(message);

process.on('message', (message: ToNetwork) => {
  if (message.ask === 'pair') {
    const phone = network.phone(`9991${String(phones.length + 1).padStart(8, '0')}`);
    phones.push(phone);
    phone.scan(message.qr);
    answer({ paired: phone.number });
    return;
  }
  answer({
    loggedIn: phones.filter(({ phone }) => [...phone.devices.values()].some((device) => device.connection))
      .length,
    received: friend.messages.length,
    failures: friend.phone.failures.length,
    problems: network.problems,
  });
});
process.once('disconnect', () => process.exit());
answer({ url: network.url, ca: network.ca, root: network.trustedRoot.toString('base64') });
