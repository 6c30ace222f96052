import { randomBytes } from 'node:crypto';
import type { OfficialNumber } from '@posthorn/network/sandbox/graph/model.ts';
import { createGraphServer, type GraphServer } from '@posthorn/network/sandbox/graph/server.ts';
import { createCloudDriver } from '@posthorn/network/whatsapp-cloud/driver.ts';
import { startPostedInboxes } from '../support/cloud/posted-inbox.ts';
import { newNumber } from '../support/whatsapp/driver-harness.ts';
import type { ContractFault, ContractNetwork, ContractPhone } from './network.ts';

/** The simulated Cloud API, as the contract needs it: each phone is a person, and an official number once one is asked for. */
export async function startCloudContract(): Promise<ContractNetwork & { graph: GraphServer }> {
  const graph = await createGraphServer();
  const inboxes = await startPostedInboxes();
  const log = { debug() {}, warn() {} };
  const { callbackUrl } = inboxes;
  const officials = new Map<string, OfficialNumber>();
  const officialOf = (phone: ContractPhone) => officials.get(phone.number)!;
  return {
    name: 'whatsapp-cloud',
    graph,
    driver: createCloudDriver({
      graph: { url: graph.url, version: 'v26.0' },
      ...{ callbackUrl, log, sendTimeoutMs: 5_000 },
    }),
    async connectTo(kept, phone) {
      const official = officials.get(phone.number) ?? graph.addNumber({ phone: phone.number });
      officials.set(phone.number, official);
      const verifyToken = randomBytes(8).toString('hex');
      kept.credentials = {
        ...{ phone_number_id: official.id, business_account_id: official.businessId },
        ...{ access_token: official.token, app_secret: official.appSecret },
        ...{ verify_token: verifyToken, phone: official.phone },
      };
      kept.inbox = inboxes.inboxOf(kept.instanceId, { appSecret: official.appSecret, verifyToken });
    },
    newPhone: async () => contractPhone(graph, newNumber(), officialOf),
    async close() {
      await graph.close();
      await inboxes.close();
    },
  };
}

const lacking = async (): Promise<never> => {
  throw new Error('this network has no such thing');
};

function contractPhone(
  graph: GraphServer,
  number: string,
  officialOf: (phone: ContractPhone) => OfficialNumber,
): ContractPhone {
  graph.person(number);
  const between = (chat: ContractPhone) =>
    [...graph.world.messages.values()].filter(
      ({ numberId, person }) => person === number && numberId === officialOf(chat).id,
    );
  const phone: ContractPhone = {
    number,
    jid: `${number}@s.whatsapp.net`,
    ...{ pair: lacking, enterCode: lacking, saidBefore: lacking, profile: lacking, openShop: lacking },
    ...{ call: lacking, callState: lacking },
    text: async (to, text) => saying(to, 'text', { body: text }),
    image: async (to, file, caption) => {
      const official = officialOf(to) ?? officialOf(phone);
      return saying(to, 'image', {
        id: graph.addMedia(official, file, 'image/png'),
        caption,
        mime_type: 'image/png',
      });
    },
    shown: async (chat) =>
      between(chat).map(({ id, callbackData, fromMe, body }) => ({
        id: callbackData ?? id,
        from: fromMe ? chat.jid : phone.jid,
        text: ((body.text as { body?: string } | undefined)?.body ?? '') as string,
      })),
    imageOf: async (chat, id) => {
      const message = between(chat).find(({ callbackData }) => callbackData === id)!;
      return graph.world.media.get((message.body.image as { id: string }).id)!.bytes;
    },
    read: async (chat) => graph.read(number, officialOf(chat)),
    wasRead: async (_chat, id) => graph.world.messages.get(id)?.isRead === true,
    fault: async (kind) => fault(graph, officialOf(phone), kind),
  };
  /** A phone with an official number writes from it; others write to an official number. */
  function saying(to: ContractPhone, type: string, part: unknown): string {
    const own = officialOf(phone);
    return own ? graph.echo(own, to.number, type, part) : graph.write(number, officialOf(to), type, part);
  }
  return phone;
}

function fault(graph: GraphServer, official: OfficialNumber, kind: ContractFault): void {
  if (kind === 'logout') official.isTokenAlive = false;
  else if (kind === 'ban')
    graph.post(official, 'account_update', {
      event: 'DISABLED_UPDATE',
      ban_info: { waba_ban_state: 'DISABLE' },
    });
  else if (kind === 'refuse') graph.fault({ kind: 'error', code: 131026 });
  else graph.fault({ kind: 'lose_answer', at: kind === 'drop_before' ? 'before' : 'after' });
}
