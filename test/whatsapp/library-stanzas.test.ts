import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import { newNumber, openPaired, type Recorded } from '../support/whatsapp/driver-harness.ts';
import type { WhatsAppNetwork } from '../support/whatsapp/network.ts';
import { startNetworkAndDriver } from '../support/whatsapp/network-driver.ts';
import { node, pad, type Stanza } from '../support/whatsapp/nodes.ts';
import { type PhoneHandle, until } from '../support/whatsapp/phone-handle.ts';
import { addressOf, seconds } from '../support/whatsapp/world.ts';

const WAIT_MS = 30_000;

/** As whatsapp-rust knows the network: it ends the connection over a stanza that is not confirmed as it wants. */
describe('a stanza that the library does not know is confirmed:', () => {
  let network: WhatsAppNetwork;
  let own: PhoneHandle;
  let friend: PhoneHandle;
  let recorded: Recorded;
  before(async () => {
    const started = await startNetworkAndDriver();
    network = started.network;
    own = network.phone(newNumber());
    friend = network.phone(newNumber());
    recorded = await openPaired(started.driver, own);
  });
  after(async () => {
    await recorded?.session.close();
    await network?.close();
    assert.deepEqual(network.problems, []);
  });

  async function isConfirmed(id: string): Promise<void> {
    const waits = () => own.device.pending.some(({ attrs }) => attrs.id === id);
    await until(() => !waits(), `the confirmation of ${id}`, WAIT_MS);
    assert.deepEqual(recorded.ended, []);
  }

  const told = (id: string) => recorded.inbound.filter(({ networkId }) => networkId === id);

  for (const addressing of ['pn', 'lid'] as const)
    it(`a status by ${addressing}, which is told`, async () => {
      const status = { extendedTextMessage: { text: 'News' } };
      const options = { audience: [own], tag: 'status', addressing } as const;
      const id = friend.send('status@broadcast', status, options);
      await until(() => told(id).length > 0, 'the status', WAIT_MS);
      await isConfirmed(id);
      assert.deepEqual(
        told(id).map(({ chat, from, content }) => [chat, from, content.text]),
        [['status@broadcast', friend.jid, 'News']],
      );
    });

  it('a status that cannot be opened', async () => {
    const id = randomBytes(10).toString('hex');
    const attrs = { from: 'status@broadcast', participant: friend.jid, id, t: seconds(), type: 'text' };
    own.device.deliver(node('status', attrs, [node('enc', { v: '2', type: 'skmsg' }, randomBytes(90))]));
    await isConfirmed(id);
  });

  it('what the user writes to a bot on the phone, which is not told', async () => {
    const id = randomBytes(10).toString('hex');
    const bot = '867051314767696@bot';
    const copy = { deviceSentMessage: { destinationJid: bot, message: { conversation: 'To nobody else' } } };
    const { device } = own;
    const sealed = own.phone.seal(
      addressOf(own.number, device.id),
      pad(network.world.coding.encodeMessage(copy)),
      () => device.takeBundle(),
    );
    const attrs = { from: own.lid, recipient: bot, id, t: seconds(), type: 'text', notify: own.phone.name };
    device.deliver(node('message', attrs, [node('enc', { v: '2', type: sealed.type }, sealed.bytes)]));
    await isConfirmed(id);
    const marker = friend.text(own, 'marker');
    await until(() => told(marker).length > 0, 'what came behind it', WAIT_MS);
    assert.deepEqual(told(id), []);
  });

  // zapo and whatsapp-rust answer it, too.
  it('the question whether it is there', async () => {
    const id = randomBytes(10).toString('hex');
    const attrs = { from: '@s.whatsapp.net', id, t: seconds(), type: 'get', xmlns: 'urn:xmpp:ping' };
    own.device.deliver(node('iq', attrs));
    await isConfirmed(id);
  });

  it('anything else', async () => {
    for (const [tag, from] of [
      ['appdata', friend.jid],
      ['status', '120363000000000000@newsletter'],
      ['of-next-year', '@s.whatsapp.net'],
    ] as const) {
      const id = randomBytes(10).toString('hex');
      const stanza: Stanza = node(tag, { from, id, t: seconds(), type: 'text' });
      own.device.deliver(stanza);
      await isConfirmed(id);
    }
  });
});
