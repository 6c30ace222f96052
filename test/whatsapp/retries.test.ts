import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
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
import { type PhoneHandle, until } from '../support/whatsapp/phone-handle.ts';

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
