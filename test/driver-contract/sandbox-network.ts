import { createSandboxDriver } from '@posthorn/network/sandbox/driver.ts';
import { createSandboxServer } from '@posthorn/network/sandbox/server.ts';
import { controlOf } from '../network/sandbox-harness.ts';
import { newNumber } from '../support/whatsapp/driver-harness.ts';
import type { ContractFault, ContractNetwork, ContractPhone, ContractShop } from './network.ts';

/** The simulated network of the sandbox, as the contract needs it; `url` is where drivers reach it. */
export async function startSandboxContract(): Promise<ContractNetwork & { url: string }> {
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
    url: server.url,
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

/** A shop in the form of the sandbox's control API. */
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
