import assert from 'node:assert/strict';
import { Readable } from 'node:stream';
import { after, before, describe, it } from 'node:test';
import { systemClock } from '@posthorn/core/platform/process/clock.ts';
import {
  newNumber,
  openPaired,
  outbound,
  type Recorded,
  sendText,
} from '../support/whatsapp/driver-harness.ts';
import { addMember, setRole } from '../support/whatsapp/groups.ts';
import type { WhatsAppNetwork } from '../support/whatsapp/network.ts';
import { startNetworkAndDriver } from '../support/whatsapp/network-driver.ts';
import { type PhoneHandle, until } from '../support/whatsapp/phone-handle.ts';

const WAIT_MS = 30_000;

describe('the member list of a group that is sent to', () => {
  let network: WhatsAppNetwork;
  let own: PhoneHandle;
  let friend: PhoneHandle;
  let recorded: Recorded;
  let aheadMs = 0;
  before(async () => {
    const clock = { ...systemClock, now: () => new Date(Date.now() + aheadMs) };
    const started = await startNetworkAndDriver({ clock });
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

  it('does not exist for a group that the account is not in any more, or that is gone: messages are refused', async () => {
    const left = await newGroup('Fencers');
    const gone = await newGroup('Boxers');
    left.members.delete(own.phone.number);
    network.world.groups.delete(gone.jid);
    for (const { jid } of [left, gone])
      for (const content of [{ text: 'to nobody' }, { text: '@1 to nobody', mentions: [friend.jid] }]) {
        const sent = recorded.session.send(outbound(jid, 'text', content));
        await assert.rejects(sent, { name: 'SendRefused', reason: 'group_not_found' });
      }
    await sendText(recorded, friend.jid, 'behind it');
  });

  // WhatsApp's own web app notes who has the key when the network has taken a message.
  it('gets the key of the group again after the network has refused the message that had it', async () => {
    const group = (await newGroup('Runners up')).jid;
    network.faults.onMessage = () => ({ error: 403 });
    await assert.rejects(recorded.session.send(outbound(group, 'text', { text: 'refused' })));
    network.faults.onMessage = null;
    const id = await sendText(recorded, group, 'after');
    assert.equal((await friend.message(id, WAIT_MS)).wire.conversation, 'after');
    assert.deepEqual(friend.phone.failures, []);
  });

  // WhatsApp's own web app calls this refusal StaleGroupAddressingMode; zapo sends such a message again.
  it('is asked for again by a message that was refused since the group has moved to ids or back, which is then sent', async () => {
    const group = await newGroup('Kayakers', 'pn');
    await sendText(recorded, group.jid, 'before');
    group.addressing = 'lid';
    let refusals = 0;
    network.faults.onMessage = (_device, { attrs }) => {
      if (attrs.addressing_mode === group.addressing) return null;
      refusals += 1;
      return { error: 421 };
    };
    const mentions = [friend.jid];
    const text = outbound(group.jid, 'text', { text: 'after', mentions });
    await recorded.session.send(text);
    const seen = await friend.message(text.networkId, WAIT_MS);
    assert.deepEqual(
      [seen.wire.extendedTextMessage, seen.timesSeen],
      [{ text: 'after', contextInfo: { mentionedJid: [friend.lid] } }, 1],
    );
    await friend.message(await sendText(recorded, group.jid, 'then'), WAIT_MS);
    assert.equal(refusals, 1);
    group.addressing = 'pn';
    const image = {
      open: async () => Readable.from([Buffer.alloc(100)]),
      ...{ mimeType: 'image/jpeg', fileName: 'a.jpg', sizeBytes: 100 },
    };
    const picture = outbound(group.jid, 'image', { caption: 'and back', mentions }, { media: image });
    await recorded.session.send(picture);
    const { wire } = await friend.message(picture.networkId, WAIT_MS);
    const { caption, contextInfo } = wire.imageMessage as Record<string, unknown>;
    assert.deepEqual([caption, contextInfo, refusals], ['and back', { mentionedJid: [friend.jid] }, 2]);
    network.faults.onMessage = () => ({ error: 421 });
    await assert.rejects(sendText(recorded, group.jid, 'refused'), { reason: 'group_addressing_changed' });
    network.faults.onMessage = null;
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

  it('is asked for once for texts and for what only admins may do', async () => {
    const group = (await newGroup('Fighters')).jid;
    const theirs = friend.text(group, 'theirs');
    await heardSoFar();
    const target = { id: theirs, from_me: false, sender: friend.jid };
    const asked = await questionsOf(async () => {
      await sendText(recorded, group, 'ours');
      await recorded.session.act('pin', { chat: group, target, pin: true, duration_s: 0 });
      await recorded.session.send(outbound(group, 'delete', {}, { target }));
    });
    assert.equal(asked, 1);
  });

  it('is asked for again when somebody has made the account an admin, or no admin', async () => {
    const group = network.group(friend, 'Hikers', [own]);
    const target = { id: friend.text(group.jid, 'theirs'), from_me: false, sender: friend.jid };
    const remove = () => recorded.session.send(outbound(group.jid, 'delete', {}, { target }));
    await heardSoFar();
    await assert.rejects(remove(), { reason: 'not_allowed' });
    setRole(group, friend.phone, own.phone, 'admin');
    await heardSoFar();
    await remove();
    setRole(group, friend.phone, own.phone, 'member');
    await heardSoFar();
    await assert.rejects(remove(), { reason: 'not_allowed' });
  });

  it('is asked for again when the account itself has made somebody an admin, or no admin', async () => {
    const member = network.phone(newNumber());
    const group = network.group(own, 'Riders', [friend, member]).jid;
    const [first, second] = [friend.text(group, 'first'), friend.text(group, 'second')];
    const revoke = (id: string) => member.send(group, { protocolMessage: { type: 'REVOKE', key: { id } } });
    const deleted = (id: string) =>
      recorded.changes.filter(({ networkId, kind }) => networkId === id && kind === 'deleted').length;
    const change = (action: 'promote' | 'demote') =>
      recorded.session.act('group_participants', { group, action, participants: [member.jid] });
    await heardSoFar();
    revoke(first);
    await heardSoFar();
    assert.equal(deleted(first), 0);
    await change('promote');
    revoke(first);
    await until(() => deleted(first) === 1, 'the deletion by an admin', WAIT_MS);
    await change('demote');
    revoke(second);
    await heardSoFar();
    assert.equal(deleted(second), 0);
  });

  it('is asked for once a minute by the deletions of others while the network does not tell it', async () => {
    const member = network.phone(newNumber());
    const group = network.group(own, 'Bikers', [friend, member]).jid;
    const id = friend.text(group, 'theirs');
    const revoke = () => member.send(group, { protocolMessage: { type: 'REVOKE', key: { id } } });
    await heardSoFar();
    network.faults.groupQuestions = 0;
    revoke();
    await heardSoFar();
    const revokeTwice = async () => {
      revoke();
      revoke();
      await heardSoFar();
    };
    assert.equal(await questionsOf(revokeTwice), 0);
    aheadMs += 60_000;
    assert.equal(await questionsOf(revokeTwice), 1);
    network.faults.groupQuestions = null;
  });

  it('is asked for again, for a deletion or a pin by an admin that the network was too busy for', async () => {
    const group = (await newGroup('Rafters')).jid;
    const target = { id: friend.text(group, 'theirs'), from_me: false, sender: friend.jid };
    await heardSoFar();
    const removal = outbound(group, 'delete', {}, { target });
    network.faults.groupQuestions = 0;
    await assert.rejects(recorded.session.send(removal), {
      name: 'SendDeferred',
      reason: 'network_busy',
      backOff: { of: 'chat', forMs: 60_000 },
    });
    const pin = recorded.session.act('pin', { chat: group, target, pin: true, duration_s: 0 });
    await assert.rejects(pin, { name: 'SendUnavailable' });
    network.faults.groupQuestions = null;
    await recorded.session.send(removal);
    await friend.message(removal.networkId, WAIT_MS);
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
