import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { after, afterEach, before, describe, it } from 'node:test';
import type { NetworkDriver } from '@posthorn/core/network/driver.ts';
import {
  connected,
  type Kept,
  newKept,
  newNumber,
  openPaired,
  openRecorded,
  outbound,
  type Recorded,
  sendText,
} from '../support/whatsapp/driver-harness.ts';
import type { WhatsAppNetwork } from '../support/whatsapp/network.ts';
import { startNetworkAndDriver } from '../support/whatsapp/network-driver.ts';
import { child, node } from '../support/whatsapp/nodes.ts';
import { type PhoneHandle, until } from '../support/whatsapp/phone-handle.ts';
import { seconds } from '../support/whatsapp/world.ts';

const WAIT_MS = 30_000;

/** The driver keeps nothing in memory for it: it reads the requested message from the store. */
describe('a phone that cannot decrypt a message asks for it again and reads it:', () => {
  let network: WhatsAppNetwork;
  let driver: NetworkDriver;
  let own: PhoneHandle;
  let friend: PhoneHandle;
  let kept: Kept;
  let recorded: Recorded;
  before(async () => {
    ({ network, driver } = await startNetworkAndDriver());
    own = network.phone(newNumber());
    friend = network.phone(newNumber());
    kept = newKept();
    recorded = await openPaired(driver, own, kept);
    const first = await sendText(recorded, friend.jid, 'First');
    await friend.message(first, WAIT_MS);
    const answer = friend.text(own, 'Answer');
    await until(() => recorded.inbound.some(({ networkId }) => networkId === answer), 'the answer', WAIT_MS);
  });
  after(async () => {
    await recorded?.session.close();
    await network?.close();
    assert.deepEqual(network.problems, []);
  });

  afterEach(() => {
    network.faults.onMessage = null;
  });

  function loseSession(): void {
    friend.phone.restart(`${own.number}.${own.device.id}`);
  }

  it('a text', async () => {
    loseSession();
    const id = await sendText(recorded, friend.jid, 'Second');
    const received = await friend.message(id, WAIT_MS);
    assert.deepEqual([received.wire.conversation, received.timesSeen], ['Second', 1]);
    assert.ok(friend.phone.failures.some((failure) => failure.id === id));
    // Devices that could decrypt it get nothing more.
    await friend.message(await sendText(recorded, friend.jid, 'Then'), WAIT_MS);
    assert.equal(own.messages.find((message) => message.id === id)?.timesSeen, 1);
    assert.equal(network.ledger.find((entry) => entry.id === id)?.timesSeen, 2);
  });

  // As zapo knows the network: without its token a message to somebody is refused, however often it was sent before.
  it('a text to somebody to whom the network takes none without a token', async () => {
    const tokens = [node('token', { jid: own.jid, t: seconds(), type: 'trusted_contact' }, randomBytes(16))];
    const attrs = { from: friend.jid, sender_lid: friend.lid, id: 'T1', t: seconds(), type: 'privacy_token' };
    own.device.deliver(node('notification', attrs, [node('tokens', {}, tokens)]));
    await until(() => !own.device.pending.some(({ attrs: { id } }) => id === 'T1'), 'the token', WAIT_MS);
    network.faults.timeLock = { isActive: false, timesAsked: 0 };
    network.faults.onMessage = (_device, stanza) => (child(stanza, 'tctoken') ? null : { error: 463 });
    loseSession();
    const id = await sendText(recorded, friend.jid, 'With a token');
    assert.equal((await friend.message(id, WAIT_MS)).wire.conversation, 'With a token');
    assert.ok(friend.phone.failures.some((failure) => failure.id === id));
  });

  it('a text in a group', async () => {
    const other = network.phone(newNumber());
    const group = network.group(own, 'Rowers', [friend, other]).jid;
    await friend.message(await sendText(recorded, group, 'First'), WAIT_MS);
    loseSession();
    friend.phone.forgetSenderKeys();
    const id = await sendText(recorded, group, 'Second');
    const received = await friend.message(id, WAIT_MS);
    assert.deepEqual([received.wire.conversation, received.timesSeen], ['Second', 1]);
    await other.message(await sendText(recorded, group, 'Then'), WAIT_MS);
    const seen = [own, other].map(({ messages }) => messages.find((message) => message.id === id)?.timesSeen);
    assert.deepEqual(seen, [1, 1]);
  });

  it('a text in a group, although a device without keys has asked for it before', async () => {
    const group = network.group(own, 'Rowers', [friend]).jid;
    await friend.message(await sendText(recorded, group, 'First'), WAIT_MS);
    friend.goOffline();
    const id = await sendText(recorded, group, 'Second');
    own.device.deliver(
      node(
        'receipt',
        { from: group, participant: `${friend.phone.lidUser}:7@lid`, id, type: 'retry', t: '1' },
        [node('retry', { count: '1', id, t: '1', v: '1' }), node('registration', {}, Buffer.alloc(4))],
      ),
    );
    loseSession();
    friend.phone.forgetSenderKeys();
    friend.comeOnline();
    const received = await friend.message(id, WAIT_MS);
    assert.deepEqual([received.wire.conversation, received.timesSeen], ['Second', 1]);
  });

  // As whatsmeow and zapo send it: to the statuses, for one participant.
  it('a status, as a status', async () => {
    const contactAction = { fullName: 'Friend', firstName: 'Friend' };
    own.publish('critical_unblock_low', ['contact', friend.jid], { contactAction });
    await until(() => recorded.facts.some(({ kind }) => kind === 'contact'), 'the contact', WAIT_MS);
    loseSession();
    const status = outbound('status@broadcast', 'status_text', { text: 'News' });
    await recorded.session.send(status);
    const received = await friend.message(status.networkId, WAIT_MS);
    assert.deepEqual([received.chat, received.timesSeen], ['status@broadcast', 1]);
    assert.ok(friend.phone.failures.some((failure) => failure.id === status.networkId));
  });

  // As whatsmeow, whatsapp-rust and zapo answer it: to the device, with the chat as its recipient, in a copy for own devices.
  for (const names of ['numbers', 'ids'] as const)
    it(`the phone of the account itself, by ${names}`, async () => {
      network.faults.timeLock = { isActive: false, timesAsked: 0 };
      network.faults.onMessage = (_device, { attrs }) =>
        names === 'ids' && attrs.to?.endsWith('@s.whatsapp.net') ? { error: 463 } : null;
      // The names that the network takes are known then.
      await friend.message(await sendText(recorded, friend.jid, 'By its names'), WAIT_MS);
      own.phone.restart(`${own.number}.${own.device.id}`);
      const id = await sendText(recorded, friend.jid, 'Third');
      const received = await own.message(id, WAIT_MS);
      assert.ok(own.phone.failures.some((failure) => failure.id === id));
      const { chat, fromMe, wire } = received;
      assert.deepEqual([chat, fromMe, wire.conversation], [friend.jid, true, 'Third']);
      const [asked, other] = names === 'ids' ? [own.lid, friend.lid] : [own.jid, friend.jid];
      const answer = network.ledger.find((entry) => entry.id === id)?.stanzas.at(-1);
      assert.deepEqual([answer?.attrs.to, answer?.attrs.recipient], [asked, other]);
      await friend.message(await sendText(recorded, friend.jid, 'Then'), WAIT_MS);
      assert.equal((await friend.message(id, WAIT_MS)).timesSeen, 1);
    });

  it('a reaction, and an edit', async () => {
    const text = await sendText(recorded, friend.jid, 'Third');
    await friend.message(text, WAIT_MS);
    for (const [type, content, field] of [
      ['reaction', { emoji: '👍' }, 'reactionMessage'],
      ['edit', { text: 'Third, better' }, 'protocolMessage'],
    ] as const) {
      loseSession();
      const change = outbound(friend.jid, type, content, { target: { id: text, from_me: true } });
      await recorded.session.send(change);
      const received = await friend.message(change.networkId, WAIT_MS);
      assert.ok(JSON.stringify(received.wire).includes(field), JSON.stringify(received.wire));
      assert.ok(friend.phone.failures.some((failure) => failure.id === change.networkId));
    }
  });

  it('a text of a session that is closed by now, from the next one', async () => {
    loseSession();
    friend.goOffline();
    const id = await sendText(recorded, friend.jid, 'Fourth');
    await recorded.session.close();
    friend.comeOnline();
    await until(
      () => friend.phone.failures.some((failure) => failure.id === id),
      'it cannot be opened',
      WAIT_MS,
    );
    recorded = await openRecorded(driver, kept);
    await connected(recorded);
    const received = await friend.message(id, WAIT_MS);
    assert.equal(received.wire.conversation, 'Fourth');
  });
});
