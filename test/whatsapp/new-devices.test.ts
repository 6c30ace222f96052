import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import type { NetworkDriver } from '@posthorn/core/network/driver.ts';
import { newNumber, openPaired, type Recorded, sendText } from '../support/whatsapp/driver-harness.ts';
import type { WhatsAppNetwork } from '../support/whatsapp/network.ts';
import { startNetworkAndDriver } from '../support/whatsapp/network-driver.ts';
import { node } from '../support/whatsapp/nodes.ts';
import { type PhoneHandle, until } from '../support/whatsapp/phone-handle.ts';
import { jidIn, seconds } from '../support/whatsapp/world.ts';

const WAIT_MS = 30_000;

/** As whatsmeow reads what the network tells of devices. */
describe('a device that was linked a moment ago gets', () => {
  let network: WhatsAppNetwork;
  let driver: NetworkDriver;
  const opened: Recorded[] = [];
  before(async () => {
    ({ network, driver } = await startNetworkAndDriver());
  });
  after(async () => {
    await Promise.all(opened.map(({ session }) => session.close()));
    await network?.close();
    assert.deepEqual(network.problems, []);
  });

  async function link(phone: PhoneHandle): Promise<Recorded> {
    const recorded = await openPaired(driver, phone);
    opened.push(recorded);
    return recorded;
  }

  const arrives = ({ inbound }: Recorded, id: string) =>
    until(() => inbound.some(({ networkId }) => networkId === id), `message ${id}`, WAIT_MS);

  for (const names of ['numbers', 'ids'] as const) {
    async function start() {
      const [own, friend] = [network.phone(newNumber()), network.phone(newNumber())];
      const first = await link(own);
      network.faults.timeLock = { isActive: false, timesAsked: 0 };
      network.faults.onMessage = (_device, { attrs }) =>
        names === 'ids' && attrs.to?.endsWith('@s.whatsapp.net') ? { error: 463 } : null;
      await friend.message(await sendText(first, friend.jid, 'before'), WAIT_MS);
      return { own, friend, first };
    }

    it(`what its account sends from another one, by ${names}`, async () => {
      const { own, friend, first } = await start();
      const second = await link(own);
      await arrives(first, friend.text(own, 'marker'));
      await arrives(second, await sendText(first, friend.jid, 'after'));
    });

    for (const told of ['both its names', 'its number'])
      it(`what others send to its account, by ${names}, told by ${told}`, async () => {
        const { own, friend, first } = await start();
        const second = await link(friend);
        const id = randomBytes(6).toString('hex');
        const attrs = { from: friend.jid, id, t: seconds(), type: 'devices' };
        const [jid, lid] = ['pn', 'lid'].map((server) => jidIn(server, friend.phone, friend.device.id));
        const more = told === 'its number' ? [{}, {}] : [{ lid: friend.lid }, { lid: lid! }];
        const device = node('device', { jid: jid!, ...more[1] });
        const added = node('add', { device_hash: '2:new' }, [device]);
        own.device.deliver(node('notification', { ...attrs, ...more[0] }, [added]));
        await arrives(first, friend.text(own, 'marker'));
        await arrives(second, await sendText(first, friend.jid, 'after'));
      });
  }
});
