/** The simulated WhatsApp network in a process of its own, so that its work is not counted as anybody else's. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { startWhatsAppNetwork } from '@posthorn/test/support/whatsapp/network.ts';
import { type PhoneHandle, until } from '@posthorn/test/support/whatsapp/phone-handle.ts';
import { answerQuestions, nowMs } from './child.ts';

const WAIT_MS = 120_000;
/** The number of texts written in one turn; between turns the receivers get their answers. */
const WRITTEN_AT_ONCE = 20;

const network = await startWhatsAppNetwork();
const contacts: PhoneHandle[] = [];
let phones = 0;

answerQuestions({
  start: () => ({ url: network.url, root: network.trustedRoot.toString('base64') }),

  /** A new phone scans the QR code; answers its number. */
  pair({ qr }: { qr: string }) {
    phones += 1;
    const phone = network.phone(`5511911${String(phones).padStart(6, '0')}`);
    phone.scan(qr);
    return phone.number;
  },

  contact() {
    const contact = network.phone(`5511922${String(contacts.length).padStart(6, '0')}`);
    contacts.push(contact);
    return contact.number;
  },

  /** Waits until contacts have opened `count` texts since the last call; answers the time for each text. */
  async opened({ count }: { count: number }) {
    const opened = () => contacts.flatMap(({ phone }) => phone.messages);
    await until(() => opened().length >= count, `${count} texts are opened, not ${opened().length}`, WAIT_MS);
    const times = Object.fromEntries(opened().map(({ wire, openedAtMs }) => [textOf(wire), openedAtMs]));
    forget();
    return times;
  },

  /** A contact writes to a paired phone; answers when it began. */
  async write({ from, to, texts }: { from: string; to: string; texts: readonly string[] }) {
    const [contact, account] = [network.handleOf(from), network.handleOf(to)];
    const begunAtMs = nowMs();
    for (const [at, text] of texts.entries()) {
      contact.text(account, text);
      if (at % WRITTEN_AT_ONCE === WRITTEN_AT_ONCE - 1) await nextTurn();
    }
    return begunAtMs;
  },

  /** Resolves when everything that was written is acknowledged. */
  async acknowledged() {
    const devices = [...network.world.phones.values()].flatMap((phone) => [...phone.devices.values()]);
    await until(() => devices.every(({ pending }) => pending.length === 0), 'all is acknowledged', WAIT_MS);
    forget();
  },

  problems: () => [...network.problems, ...contacts.flatMap(({ phone }) => phone.failures.map(String))],
});

/** The network searches its records row by row, so records of one round would slow down the next. */
function forget(): void {
  network.world.ledger.length = 0;
  for (const phone of network.world.phones.values()) {
    phone.messages.length = 0;
    phone.receipts.length = 0;
  }
}

function textOf(wire: Record<string, unknown>): string {
  const extended = wire.extendedTextMessage as { text?: string } | undefined;
  return String(wire.conversation ?? extended?.text);
}
