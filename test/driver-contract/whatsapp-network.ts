import { createWhatsAppDriver } from '@posthorn/network/whatsapp/driver.ts';
import { loadLibrary, trustRoot } from '@posthorn/network/whatsapp/library.ts';
import { newNumber } from '../support/whatsapp/driver-harness.ts';
import { startWhatsAppNetwork, type WhatsAppNetwork } from '../support/whatsapp/network.ts';
import type { Storefront } from '../support/whatsapp/phone.ts';
import type { PhoneHandle } from '../support/whatsapp/phone-handle.ts';
import type { ContractNetwork, ContractPhone, ContractShop } from './network.ts';

/** The simulated WhatsApp network, as the contract needs it. */
export async function startWhatsAppContract(): Promise<ContractNetwork & { network: WhatsAppNetwork }> {
  const network = await startWhatsAppNetwork();
  trustRoot(await loadLibrary(), network.trustedRoot);
  return {
    name: 'whatsapp',
    network,
    driver: createWhatsAppDriver({ url: network.url, ca: network.ca, log: silentLog, sendTimeoutMs: 5_000 }),
    newPhone: async () => contractPhone(network, network.phone(newNumber())),
    close: () => network.close(),
  };
}

const silentLog = { debug() {}, warn() {}, error() {} };

function contractPhone(network: WhatsAppNetwork, handle: PhoneHandle): ContractPhone {
  const messagesWith = (chat: ContractPhone) =>
    handle.messages.filter((message) => message.chat === chat.jid);
  const handleOf = (phone: ContractPhone) => phone.jid;
  return {
    number: handle.number,
    jid: handle.jid,
    pair: async (qr) => handle.scan(qr),
    enterCode: (code) => handle.enterCode(code),
    text: async (to, text) => handle.text(handleOf(to), text),
    image: async (to, file, caption) =>
      handle.file(handleOf(to), 'image', file, { mimetype: 'image/png', caption }),
    shown: async (chat) =>
      messagesWith(chat).map(({ id, from, wire }) => ({
        id,
        from: `${from}@s.whatsapp.net`,
        text: textOf(wire),
      })),
    imageOf: async (chat, id) =>
      handle.open(messagesWith(chat).find((message) => message.id === id)!, 'image'),
    read: async (chat) => handle.read(messagesWith(chat).filter(({ fromMe }) => !fromMe)),
    wasRead: async (chat, id) =>
      handle.phone.receipts.some(
        ({ from, ids, type }) => from === chat.number && ids.includes(id) && type === 'read',
      ),
    saidBefore: async (chat, said) => {
      const at = (nth: number) => new Date(Date.now() - (said.length - nth) * 60_000);
      const other = network.handleOf(chat.number);
      return handle.remember(
        other,
        said.map((each, nth) => ({ ...each, at: at(nth) })),
      );
    },
    profile: async () => {
      const { name, about, picture } = handle.phone;
      return { name, about, picture };
    },
    openShop: async (shop) => {
      handle.phone.isBusiness = true;
      handle.phone.storefront = storefrontOf(shop);
    },
    call: async (to) => handle.call(network.handleOf(to.number), 'offer'),
    callState: async (callId) => (handle.phone.calls.get(callId) === 'rejected' ? 'rejected' : 'ringing'),
    fault: async (kind) => {
      const { device } = handle;
      if (kind === 'drop') return network.control.drop(device);
      if (kind === 'logout') return network.control.logout(device);
      if (kind === 'ban') return network.control.ban(device);
      network.faults.onMessage = (from) => {
        if (from !== device) return null;
        network.faults.onMessage = null;
        if (kind === 'refuse') return { error: 479 };
        return kind === 'drop_before' ? 'drop_before_ledger' : 'drop_after_ledger';
      };
    },
  };
}

/** A shop in the form of the network: hours in minutes, prices in thousandths. */
function storefrontOf({ hours, products, collection, ...said }: ContractShop): Storefront {
  const minutes = (clock: string) => {
    const [hour = 0, minute = 0] = clock.split(':').map(Number);
    return hour * 60 + minute;
  };
  const day = {
    ...{ day: hours.day, mode: 'specific_hours' },
    ...{ open: minutes(hours.opens), close: minutes(hours.closes) },
  };
  return {
    ...said,
    hours: { timezone: hours.timezone, days: [day] },
    products: products.map((product) => ({
      ...product,
      ...{ description: '', retailerId: '', url: '', isHidden: false, status: 'approved' },
      price: product.price * 10,
    })),
    collections: [{ ...collection, status: 'approved' }],
  };
}

function textOf(wire: Record<string, unknown>): string {
  const extended = wire.extendedTextMessage as { text?: string } | undefined;
  const image = wire.imageMessage as { caption?: string } | undefined;
  return extended?.text ?? image?.caption ?? (wire.conversation as string | undefined) ?? '';
}
