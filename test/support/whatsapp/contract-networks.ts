import type { NetworkDriver } from '@posthorn/core/network/driver.ts';
import { createSandboxDriver } from '@posthorn/network/sandbox/driver.ts';
import { createSandboxServer } from '@posthorn/network/sandbox/server.ts';
import { createWhatsAppDriver } from '@posthorn/network/whatsapp/driver.ts';
import { loadLibrary, trustRoot } from '@posthorn/network/whatsapp/library.ts';
import { controlOf } from '../../network/sandbox-harness.ts';
import { newNumber } from './driver-harness.ts';
import { startWhatsAppNetwork, type WhatsAppNetwork } from './network.ts';
import type { Storefront } from './phone.ts';
import type { PhoneHandle } from './phone-handle.ts';

/** What the tests of the port need of a network, whichever it is. */
export interface ContractNetwork {
  name: string;
  driver: NetworkDriver;
  newPhone(): Promise<ContractPhone>;
  close(): Promise<void>;
}

export interface Shown {
  id: string;
  from: string;
  text: string;
}

/** A phone: somebody to pair with, or to chat with. */
export interface ContractPhone {
  number: string;
  jid: string;
  pair(qr: string): Promise<void>;
  enterCode(code: string): Promise<void>;
  /** Sends a text to another phone; answers its network id. */
  text(to: ContractPhone, text: string): Promise<string>;
  /** Sends a file; answers its network id. */
  image(to: ContractPhone, file: Buffer, caption: string): Promise<string>;
  /** What it shows of a chat, in order. */
  shown(chat: ContractPhone): Promise<Shown[]>;
  /** The bytes of an image that it shows. */
  imageOf(chat: ContractPhone, id: string): Promise<Buffer>;
  read(chat: ContractPhone): Promise<void>;
  /** Whether it was told that its message was read. */
  wasRead(chat: ContractPhone, id: string): Promise<boolean>;
  /** What was said before it was paired, oldest first; answers the network ids. */
  saidBefore(chat: ContractPhone, said: readonly Said[]): Promise<string[]>;
  /** What others see of it; `picture` are its bytes. */
  profile(): Promise<{ name: string; about: string; picture: Buffer | null }>;
  /** Becomes a business that shows this. */
  openShop(shop: ContractShop): Promise<void>;
  /** Calls another phone; answers the call's id. */
  call(to: ContractPhone): Promise<string>;
  /** Whether the call still rings, or was rejected. */
  callState(callId: string): Promise<'ringing' | 'rejected'>;
  /** Messages of the instance that is paired with it do not reach it. */
  fault(kind: ContractFault): Promise<void>;
}

export interface Said {
  text: string;
  fromMe: boolean;
}

/** What a business shows, as the port answers it. */
export interface ContractShop {
  address: string;
  description: string;
  email: string;
  category: string;
  hours: { timezone: string; day: string; opens: string; closes: string };
  products: { id: string; name: string; price: number; currency: string; imageUrl: string }[];
  collection: { id: string; name: string; products: string[] };
}

/**
 * `drop`: the line is cut now. `drop_before`, `drop_after`: with the next message, before or after the network took it.
 * `refuse`: the next message is refused.
 */
export type ContractFault = 'drop' | 'drop_before' | 'drop_after' | 'refuse' | 'logout' | 'ban';

export async function startSandboxContract(): Promise<ContractNetwork> {
  const server = await createSandboxServer({ autoPair: false });
  const control = controlOf(server.controlUrl);
  const chatOf = async (phone: string, chat: ContractPhone) =>
    (await control.get(`/phones/${phone}/messages?chat=${encodeURIComponent(chat.jid)}`)).messages as {
      id: string;
      from: string;
      text: string;
      status: string;
      media?: { url: string };
    }[];
  const faults: Record<ContractFault, Record<string, unknown>> = {
    drop: { kind: 'drop', at: 'now' },
    drop_before: { kind: 'drop', at: 'before_ledger', times: 1 },
    drop_after: { kind: 'drop', at: 'after_ledger', times: 1 },
    refuse: { kind: 'refuse', times: 1 },
    logout: { kind: 'logout' },
    ban: { kind: 'ban' },
  };
  return {
    name: 'sandbox',
    driver: createSandboxDriver({ url: server.url }),
    async newPhone() {
      const number = newNumber();
      await control.post('/phones', { phone: number });
      const phone: ContractPhone = {
        number,
        jid: `${number}@s.whatsapp.net`,
        pair: async (qr) => void (await control.post('/pair', { qr, phone: number })),
        enterCode: async (code) => void (await control.post('/pair', { code, phone: number })),
        text: async (to, text) =>
          (await control.post(`/phones/${number}/messages`, { to: to.number, type: 'text', text })).id,
        image: async (to, file, caption) => {
          const media = { media_base64: file.toString('base64'), mime_type: 'image/png' };
          const body = { to: to.number, type: 'image', caption, ...media };
          return (await control.post(`/phones/${number}/messages`, body)).id;
        },
        shown: async (chat) => (await chatOf(number, chat)).map(({ id, from, text }) => ({ id, from, text })),
        imageOf: async (chat, id) => {
          const media = (await chatOf(number, chat)).find((message) => message.id === id)?.media;
          const answer = await fetch(`${server.controlUrl}${media?.url}`);
          return Buffer.from(await answer.arrayBuffer());
        },
        read: async (chat) => void (await control.post(`/phones/${number}/read`, { chat: chat.jid })),
        wasRead: async (chat, id) =>
          (await chatOf(number, chat)).some((message) => message.id === id && message.status === 'read'),
        saidBefore: async (chat, said) => {
          const ids: string[] = [];
          for (const { text, fromMe } of said)
            ids.push(await (fromMe ? phone.text(chat, text) : chat.text(phone, text)));
          return ids;
        },
        profile: async () => {
          const { name, about, picture } = await control.get(`/phones/${number}`);
          const bytes = picture && (await fetch(`${server.controlUrl}${picture}`)).arrayBuffer();
          return { name, about, picture: bytes ? Buffer.from(await bytes) : null };
        },
        openShop: async (shop) => void (await control.post(`/phones/${number}/business`, shelvesOf(shop))),
        call: async (to) => (await control.post(`/phones/${number}/calls`, { to: to.number })).id,
        callState: async (callId) => {
          const { calls } = await control.get(`/phones/${number}/calls`);
          const { state } = (calls as { id: string; state: string }[]).find(({ id }) => id === callId)!;
          return state === 'refused' ? 'rejected' : 'ringing';
        },
        fault: async (kind) => void (await control.post('/faults', { ...faults[kind], account: number })),
      };
      return phone;
    },
    close: () => server.close(),
  };
}

/** A shop in the words of the sandbox's control API. */
function shelvesOf({ category, hours, products, collection, ...rest }: ContractShop) {
  const { timezone, day, opens, closes } = hours;
  return {
    ...rest,
    categories: [{ id: '1', name: category }],
    business_hours_timezone: timezone,
    business_hours: [{ day_of_week: day, mode: 'specific_hours', open_time: opens, close_time: closes }],
    products: products.map(({ imageUrl, ...product }) => ({ ...product, image_url: imageUrl })),
    collections: [{ id: collection.id, name: collection.name, product_ids: collection.products }],
  };
}

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

/** A shop as the network has it: hours in minutes, prices in thousandths. */
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
