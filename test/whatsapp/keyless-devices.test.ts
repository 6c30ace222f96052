import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, it } from 'node:test';
import {
  newNumber,
  openPaired,
  outbound,
  type Recorded,
  sendText,
} from '../support/whatsapp/driver-harness.ts';
import { addMember } from '../support/whatsapp/groups.ts';
import type { WhatsAppNetwork } from '../support/whatsapp/network.ts';
import { startNetworkAndDriver } from '../support/whatsapp/network-driver.ts';
import { type PhoneHandle, until } from '../support/whatsapp/phone-handle.ts';

const WAIT_MS = 30_000;

/** Anybody can cause this: the network takes any keys, and those of a device that is gone are gone. */
for (const fault of ['none', 'spoilt'] as const)
  describe(`people among whom one has keys that are ${fault} get`, () => {
    let network: WhatsAppNetwork;
    let own: PhoneHandle;
    let friend: PhoneHandle;
    let other: PhoneHandle;
    let recorded: Recorded;
    before(async () => {
      const started = await startNetworkAndDriver();
      network = started.network;
      own = network.phone(newNumber());
      recorded = await openPaired(started.driver, own);
    });
    beforeEach(() => {
      friend = network.phone(newNumber());
      other = network.phone(newNumber());
      network.faults.preKeys = (number) => (number === other.number ? fault : null);
    });
    after(async () => {
      await recorded?.session.close();
      await network?.close();
      assert.deepEqual(network.problems, []);
    });

    it('a text in a group, and so does that one when it asks', async () => {
      const group = network.group(own, 'Rowers', [friend, other]).jid;
      const id = await sendText(recorded, group, 'Hello');
      for (const each of [friend, other])
        assert.equal((await each.message(id, WAIT_MS)).wire.conversation, 'Hello');
    });

    it('a text in a group to which that one was added', async () => {
      const group = network.group(own, 'Sailors', [friend]);
      await friend.message(await sendText(recorded, group.jid, 'before'), WAIT_MS);
      addMember(group, friend.phone, other.phone);
      const marker = friend.text(own, 'marker');
      await until(
        () => recorded.inbound.some(({ networkId }) => networkId === marker),
        'the marker',
        WAIT_MS,
      );
      const id = await sendText(recorded, group.jid, 'after');
      assert.equal((await friend.message(id, WAIT_MS)).wire.conversation, 'after');
    });

    it('a status', async () => {
      for (const { jid } of [friend, other])
        own.publish('critical_unblock_low', ['contact', jid], { contactAction: { fullName: jid } });
      const saved = () =>
        [friend, other].every((each) =>
          recorded.facts.some((fact) => fact.kind === 'contact' && fact.jid === each.jid),
        );
      await until(saved, 'the contacts', WAIT_MS);
      const status = outbound('status@broadcast', 'status_text', { text: 'News' });
      await recorded.session.send(status);
      await friend.message(status.networkId, WAIT_MS);
    });

    it('nothing that is for that one alone, until its keys are right', async () => {
      const message = outbound(other.jid, 'text', { text: 'Hello' });
      await assert.rejects(recorded.session.send(message), { name: 'SendDeferred' });
      assert.ok(!network.ledger.some(({ id }) => id === message.networkId));
      network.faults.preKeys = null;
      await recorded.session.send(message);
      assert.equal((await other.message(message.networkId, WAIT_MS)).wire.conversation, 'Hello');
    });
  });

for (const fault of ['none', 'error'] as const)
  describe(`people get, though the network tells ${fault === 'none' ? 'no devices' : 'an error'} of one,`, () => {
    let network: WhatsAppNetwork;
    let own: PhoneHandle;
    let friend: PhoneHandle;
    let other: PhoneHandle;
    let recorded: Recorded;
    before(async () => {
      const started = await startNetworkAndDriver();
      network = started.network;
      [own, friend, other] = [
        network.phone(newNumber()),
        network.phone(newNumber()),
        network.phone(newNumber()),
      ];
      recorded = await openPaired(started.driver, own);
    });
    beforeEach(() => {
      network.faults.devices = (number) => (number === other.number ? fault : null);
    });
    after(async () => {
      await recorded?.session.close();
      await network?.close();
      assert.deepEqual(network.problems, []);
    });

    it('a text in a group', async () => {
      const group = network.group(own, 'Rowers', [friend, other]).jid;
      const id = await sendText(recorded, group, 'Hello');
      assert.equal((await friend.message(id, WAIT_MS)).wire.conversation, 'Hello');
    });

    // As whatsapp-rust knows the network: it takes a message that has copies for the sender's own devices alone.
    it('nothing that is for that one alone, until they are told', async () => {
      const message = outbound(other.jid, 'text', { text: 'Hello' });
      await assert.rejects(recorded.session.send(message), { name: 'SendDeferred' });
      assert.ok(!network.ledger.some(({ id }) => id === message.networkId));
      network.faults.devices = null;
      await recorded.session.send(message);
      assert.equal((await other.message(message.networkId, WAIT_MS)).wire.conversation, 'Hello');
    });
  });
