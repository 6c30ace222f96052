import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import {
  connected,
  newKept,
  newNumber,
  openRecorded,
  outbound,
  type Recorded,
  sendText,
} from '../support/whatsapp/driver-harness.ts';
import { addMember } from '../support/whatsapp/groups.ts';
import type { WhatsAppNetwork } from '../support/whatsapp/network.ts';
import { startNetworkAndDriver } from '../support/whatsapp/network-driver.ts';
import { type PhoneHandle, until } from '../support/whatsapp/phone-handle.ts';

const WAIT_MS = 30_000;

describe('the member list of a group that is sent to', () => {
  let network: WhatsAppNetwork;
  let own: PhoneHandle;
  let friend: PhoneHandle;
  let recorded: Recorded;
  before(async () => {
    const started = await startNetworkAndDriver();
    network = started.network;
    own = network.phone(newNumber());
    friend = network.phone(newNumber());
    recorded = await openRecorded(started.driver, newKept());
    own.scan(await until(() => recorded.qrs.at(-1), 'a QR code', WAIT_MS));
    await connected(recorded);
  });
  after(async () => {
    await recorded?.session.close();
    await network?.close();
    assert.deepEqual(network.problems, []);
  });

  /** The number of questions about groups that the network answered meanwhile. */
  async function questionsOf(work: () => Promise<unknown>): Promise<number> {
    const many = 1_000;
    network.faults.groupQuestions = many;
    await work();
    return many - network.faults.groupQuestions;
  }

  /** The devices are notified in order: once they have the marker, they know of everything before it. */
  async function heardSoFar(): Promise<void> {
    const marker = friend.text(own, 'marker');
    await until(() => recorded.inbound.some(({ networkId }) => networkId === marker), 'the marker', WAIT_MS);
  }

  async function newGroup(subject: string, addressing?: 'pn' | 'lid') {
    const group = network.group(own, subject, [friend], addressing);
    await heardSoFar();
    return group;
  }

  for (const addressing of ['lid', 'pn'] as const)
    it(`is asked for once, however many texts go there, where its members have a ${addressing}`, async () => {
      const group = (await newGroup('Rowers', addressing)).jid;
      const asked = await questionsOf(async () => {
        for (let nth = 0; nth < 5; nth += 1) {
          const id = await sendText(recorded, group, `text ${nth}`);
          assert.equal((await friend.message(id, WAIT_MS)).wire.conversation, `text ${nth}`);
        }
      });
      assert.equal(asked, 1);
    });

  it('is asked for again when somebody was added, who can read later messages', async () => {
    const group = await newGroup('Sailors');
    await sendText(recorded, group.jid, 'before');
    const newcomer = network.phone(newNumber());
    addMember(group, friend.phone, newcomer.phone);
    await heardSoFar();
    const id = await sendText(recorded, group.jid, 'after');
    assert.equal((await newcomer.message(id, WAIT_MS)).wire.conversation, 'after');
    assert.deepEqual(newcomer.phone.failures, []);
  });

  it('is asked for again when the account itself has added somebody, although its own device is not notified', async () => {
    const group = await newGroup('Divers');
    await sendText(recorded, group.jid, 'before');
    const newcomer = network.phone(newNumber());
    const { refused } = await recorded.session.act('group_participants', {
      group: group.jid,
      action: 'add',
      participants: [newcomer.jid],
    });
    assert.deepEqual(refused, []);
    const id = await sendText(recorded, group.jid, 'after');
    assert.equal((await newcomer.message(id, WAIT_MS)).wire.conversation, 'after');
    assert.deepEqual(newcomer.phone.failures, []);
  });

  it('is asked for again after the network has refused a message to it', async () => {
    const group = (await newGroup('Surfers')).jid;
    await sendText(recorded, group, 'before');
    network.faults.onMessage = () => ({ error: 400 });
    await assert.rejects(recorded.session.send(outbound(group, 'text', { text: 'refused' })));
    network.faults.onMessage = null;
    assert.equal(await questionsOf(() => sendText(recorded, group, 'after')), 1);
  });

  it('is asked for again when it was asked for and changed at the same time', async () => {
    const group = await newGroup('Climbers');
    const newcomer = network.phone(newNumber());
    const sending = sendText(recorded, group.jid, 'while');
    addMember(group, friend.phone, newcomer.phone);
    await friend.message(await sending, WAIT_MS);
    await heardSoFar();
    const id = await sendText(recorded, group.jid, 'after');
    assert.equal((await newcomer.message(id, WAIT_MS)).wire.conversation, 'after');
  });

  it('takes texts while the network refuses questions about groups, and one that is not known waits', async () => {
    const group = (await newGroup('Swimmers')).jid;
    await sendText(recorded, group, 'before');
    const unknown = (await newGroup('Runners')).jid;
    network.faults.groupQuestions = 0;
    const id = await sendText(recorded, group, 'meanwhile');
    assert.equal((await friend.message(id, WAIT_MS)).wire.conversation, 'meanwhile');
    const later = outbound(unknown, 'text', { text: 'later' });
    await assert.rejects(recorded.session.send(later), {
      name: 'SendDeferred',
      reason: 'network_busy',
      backOff: { of: 'chat', forMs: 60_000 },
    });
    network.faults.groupQuestions = null;
    await recorded.session.send(later);
    assert.equal((await friend.message(later.networkId, WAIT_MS)).wire.conversation, 'later');
  });
});
