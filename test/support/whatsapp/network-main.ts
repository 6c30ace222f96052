import { startWhatsAppNetwork } from './network.ts';
import type { PhoneHandle } from './phone-handle.ts';

/**
 * The simulated network in a process of its own, for tests that measure the driver's or kill it. Over the channel of
 * `fork` a test asks it to pair the device that shows a QR code with a new phone, to count, to have the friend of all
 * write a text to each paired phone, and to report.
 */
export type ToNetwork = { ask: 'pair'; qr: string } | { ask: 'count' } | { ask: 'write' } | { ask: 'report' };
export type FromNetwork =
  | { url: string; ca: string; root: string }
  | { paired: string }
  | { loggedIn: number; received: number; failures: number; problems: readonly string[] }
  | NetworkReport;

export interface NetworkReport {
  /** The friend's texts, by the id of the message. */
  written: Record<string, string>;
  /** The texts that the friend has read, and how often each came. */
  read: Record<string, number>;
  /** Messages that any phone could not open, or that any device has asked for again. */
  unreadable: string[];
  /** Ids that the network took more than once. */
  takenTwice: string[];
  /** The number of stanzas that the devices have not confirmed. */
  pending: number;
  problems: readonly string[];
}

const network = await startWhatsAppNetwork();
const phones: PhoneHandle[] = [];
/** The phone to which all the others write. */
const friend = network.phone('999100000000');
const answer = (message: FromNetwork) => process.send?.(message);

const written: Record<string, string> = {};

function report(): NetworkReport {
  const everybody = [friend, ...phones];
  return {
    written,
    read: Object.fromEntries(friend.messages.map(({ id, timesSeen }) => [id, timesSeen])),
    unreadable: everybody.flatMap(({ phone }) => [
      ...phone.failures.map(({ id, from, reason }) => `${id} of ${from} at ${phone.number}: ${reason}`),
      ...phone.receipts.filter(({ type }) => type === 'retry').map(({ ids }) => `${ids}: asked for again`),
    ]),
    takenTwice: network.ledger.filter(({ timesSeen }) => timesSeen > 1).map(({ id }) => id),
    pending: phones.reduce((sum, phone) => sum + phone.device.pending.length, 0),
    problems: network.problems,
  };
}

process.on('message', (message: ToNetwork) => {
  if (message.ask === 'report') {
    answer(report());
    return;
  }
  if (message.ask === 'write') {
    for (const phone of phones) {
      const text = `text ${Object.keys(written).length}`;
      written[friend.text(phone, text)] = text;
    }
    return;
  }
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
