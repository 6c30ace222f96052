import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, it } from 'node:test';
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
import type { LinkedDevice } from '../support/whatsapp/linked-device.ts';
import type { WhatsAppNetwork } from '../support/whatsapp/network.ts';
import { startNetworkAndDriver } from '../support/whatsapp/network-driver.ts';
import { node, type Stanza } from '../support/whatsapp/nodes.ts';
import { type PhoneHandle, until } from '../support/whatsapp/phone-handle.ts';
import { seconds } from '../support/whatsapp/world.ts';

const WAIT_MS = 30_000;

describe('an account whose messages the network takes', () => {
  let network: WhatsAppNetwork;
  let driver: NetworkDriver;
  let own: PhoneHandle;
  let friend: PhoneHandle;
  let kept: Kept;
  let recorded: Recorded;
  /** The addresses of messages to people, as the network got them. */
  let asked: string[];
  before(async () => {
    ({ network, driver } = await startNetworkAndDriver());
  });
  beforeEach(async () => {
    network.faults.onMessage = null;
    network.faults.timeLock = { isActive: false, timesAsked: 0 };
    own = network.phone(newNumber());
    friend = network.phone(newNumber());
    kept = newKept();
    recorded = await openPaired(driver, own, kept);
    asked = [];
  });
  after(async () => {
    await network?.close();
    assert.deepEqual(network.problems, []);
  });

  /** Makes the network refuse messages to people under one kind of name. */
  function refuse(server: '@lid' | '@s.whatsapp.net', error: number): void {
    network.faults.onMessage = (_device: LinkedDevice, { attrs }: Stanza) => {
      asked.push(attrs.to!);
      return attrs.to?.endsWith(server) ? { error } : null;
    };
  }

  async function reopen(): Promise<void> {
    await new Promise((resolve) => setTimeout(resolve, 1_500));
    await recorded.session.close();
    kept.epoch += 1;
    recorded = await openRecorded(driver, kept);
    await connected(recorded);
  }

  it('by ids alone sends by ids once a number was refused, and so does the next session', async () => {
    refuse('@s.whatsapp.net', 463);
    const first = await sendText(recorded, friend.jid, 'one');
    assert.equal((await friend.message(first, WAIT_MS)).wire.conversation, 'one');
    const second = await sendText(recorded, friend.jid, 'two');
    assert.equal((await friend.message(second, WAIT_MS)).wire.conversation, 'two');
    assert.deepEqual(asked, [friend.jid, friend.phone.lid, friend.phone.lid]);
    assert.deepEqual(recorded.restrictions, []);
    await until(
      () => recorded.receipts.some(({ networkId, chat }) => networkId === second && chat === friend.jid),
      'the receipt',
      WAIT_MS,
    );
    await reopen();
    const third = await sendText(recorded, friend.jid, 'three');
    assert.equal((await friend.message(third, WAIT_MS)).timesSeen, 1);
    assert.equal(asked.at(-1), friend.phone.lid);
    await recorded.session.close();
  });

  it('by ids alone sends to whom a number belongs now, once its former owner has written from another', async () => {
    refuse('@s.whatsapp.net', 463);
    await sendText(recorded, friend.jid, 'one');
    const number = friend.number;
    friend.takeNumber(newNumber());
    const owner = network.phone(number);
    const news = friend.text(own, 'my new number', { addressing: 'lid' });
    await until(() => recorded.inbound.find(({ networkId }) => networkId === news), 'the text', WAIT_MS);
    const id = await sendText(recorded, owner.jid, 'two');
    assert.equal((await owner.message(id, WAIT_MS)).wire.conversation, 'two');
    assert.deepEqual(
      friend.messages.filter((message) => message.id === id),
      [],
    );
    // The owner is told under the number, and so is the person of before under the new one.
    const byOwner = owner.text(own, 'hello', { addressing: 'lid', hidesOther: true });
    const byFriend = friend.text(own, 'still me', { addressing: 'lid', hidesOther: true });
    const told = (of: string) => recorded.inbound.find(({ networkId }) => networkId === of)?.from;
    await until(() => told(byOwner) && told(byFriend), 'both texts', WAIT_MS);
    assert.deepEqual([told(byOwner), told(byFriend)], [owner.jid, friend.jid]);
    await recorded.session.close();
  });

  for (const teller of ['contacts', 'a group'] as const)
    it(`by ids alone sends to whom a number belongs now, once ${teller} told that the former owner has another`, async () => {
      refuse('@s.whatsapp.net', 463);
      await sendText(recorded, friend.jid, 'one');
      const [before, number] = [friend.jid, friend.number];
      friend.takeNumber(newNumber());
      const owner = network.phone(number);
      const lids = { old_lid: friend.lid, new_lid: friend.lid };
      own.device.deliver(
        teller === 'contacts'
          ? node('notification', { from: before, type: 'contacts', id: 'C1', t: seconds() }, [
              node('modify', { old: before, new: friend.jid, ...lids }),
            ])
          : node(
              'notification',
              {
                ...{ from: '1203630@g.us', type: 'w:gp2', id: 'G1', t: seconds(), addressing_mode: 'lid' },
                ...{ participant: friend.lid, participant_pn: before },
              },
              [node('modify', {}, [node('participant', { jid: friend.lid, phone_number: friend.jid })])],
            ),
      );
      await until(() => own.device.pending.length === 0, 'the confirmation', WAIT_MS);
      const id = await sendText(recorded, owner.jid, 'two');
      assert.equal((await owner.message(id, WAIT_MS)).wire.conversation, 'two');
      const still = friend.text(own, 'still me', { addressing: 'lid', hidesOther: true });
      const told = () => recorded.inbound.find(({ networkId }) => networkId === still)?.from;
      await until(told, 'the text', WAIT_MS);
      assert.equal(told(), friend.jid);
      await recorded.session.close();
    });

  it('by ids alone knows its own number also after another device of it has written to somebody', async () => {
    const other = await openPaired(driver, own);
    const known = friend.text(own, 'hello', { addressing: 'lid' });
    const told = (id: string) => recorded.inbound.find(({ networkId }) => networkId === id);
    await until(() => told(known), 'the text', WAIT_MS);
    refuse('@s.whatsapp.net', 463);
    await sendText(recorded, friend.jid, 'one');
    const copied = await sendText(other, friend.jid, 'two');
    const copy = await until(() => told(copied), 'the copy', WAIT_MS);
    assert.deepEqual([copy.chat, copy.from, copy.fromMe], [friend.jid, own.jid, true]);
    const note = await sendText(recorded, own.jid, 'note to self');
    assert.equal(network.ledger.find(({ id }) => id === note)?.to, own.lid);
    const last = await sendText(recorded, friend.jid, 'three');
    await friend.message(last, WAIT_MS);
    assert.ok(friend.messages.every(({ id }) => id !== note));
    await Promise.all([other.session.close(), recorded.session.close()]);
  });

  it('by ids alone reaches who has the number of an account that is gone', async () => {
    refuse('@s.whatsapp.net', 463);
    await sendText(recorded, friend.jid, 'one');
    network.deleteAccount(friend);
    const owner = network.phone(friend.number);
    await reopen();
    const id = await sendText(recorded, owner.jid, 'two');
    assert.equal((await owner.message(id, WAIT_MS)).wire.conversation, 'two');
    await recorded.session.close();
  });

  it('by numbers alone sends by numbers again once an id was refused', async () => {
    refuse('@s.whatsapp.net', 463);
    await sendText(recorded, friend.jid, 'one');
    refuse('@lid', 400);
    const id = await sendText(recorded, friend.jid, 'two');
    assert.equal((await friend.message(id, WAIT_MS)).wire.conversation, 'two');
    await sendText(recorded, friend.jid, 'three');
    assert.deepEqual(asked.slice(2), [friend.phone.lid, friend.jid, friend.jid]);
    await recorded.session.close();
  });

  it('to nobody, because it is limited, does not try a second address', async () => {
    network.faults.timeLock = { isActive: true, timesAsked: 0 };
    refuse('@s.whatsapp.net', 463);
    await assert.rejects(sendText(recorded, friend.jid, 'one'), { reason: 'new_chats_limited' });
    assert.deepEqual(asked, [friend.jid]);
    assert.deepEqual(recorded.restrictions, ['new_chats_limited']);
    await recorded.session.close();
  });

  it('to nobody new, because it has written to as many as it may, does not try a second address', async () => {
    refuse('@s.whatsapp.net', 475);
    await assert.rejects(sendText(recorded, friend.jid, 'one'), { reason: 'new_chats_capped' });
    assert.deepEqual([asked, recorded.restrictions], [[friend.jid], []]);
    await recorded.session.close();
  });

  it('by neither kind of name reports the first refusal', async () => {
    network.faults.onMessage = (_device: LinkedDevice, { attrs }: Stanza) => {
      asked.push(attrs.to!);
      return { error: attrs.to?.endsWith('@lid') ? 400 : 463 };
    };
    await assert.rejects(sendText(recorded, friend.jid, 'one'), { reason: 'new_chats_limited' });
    assert.deepEqual(asked, [friend.jid, friend.phone.lid]);
    // For a while no second address is tried for anybody.
    await assert.rejects(sendText(recorded, friend.jid, 'two'), { reason: 'new_chats_limited' });
    assert.deepEqual(asked.slice(2), [friend.jid]);
    await recorded.session.close();
  });

  it('in the order in which they are given to a session that begins', async () => {
    await reopen();
    const { read } = kept.keys;
    // The first read is answered last.
    let waitMs = 200;
    kept.keys.read = async (...args) => {
      waitMs -= 20;
      await new Promise((resolve) => setTimeout(resolve, Math.max(0, waitMs)));
      return read.apply(kept.keys, args);
    };
    const texts = Array.from({ length: 10 }, (_, nth) => `text ${nth}`);
    const sent = await Promise.all(texts.map((text) => sendText(recorded, friend.jid, text)));
    await friend.message(sent.at(-1)!, WAIT_MS);
    assert.deepEqual(
      friend.messages.map(({ wire }) => wire.conversation),
      texts,
    );
    await recorded.session.close();
  });

  it('by ids alone gets many at once to each of its people, once and in order', async () => {
    const others = [friend, network.phone(newNumber()), network.phone(newNumber())];
    refuse('@s.whatsapp.net', 463);
    const texts = Array.from({ length: 30 }, (_, nth) => ({ nth, to: others[nth % others.length]! }));
    const sent = await Promise.all(
      texts.map(async ({ nth, to }) => ({ to, id: await sendText(recorded, to.jid, `text ${nth}`) })),
    );
    for (const { to, id } of sent) assert.equal((await to.message(id, WAIT_MS)).timesSeen, 1);
    for (const other of others) {
      const got = other.messages.map(({ wire }) => Number(String(wire.conversation).split(' ')[1]));
      assert.deepEqual(
        got,
        got.toSorted((a, b) => a - b),
      );
    }
    await recorded.session.close();
  });

  it('by ids alone gets a message once although the line is cut after its second way', async () => {
    let isCut = false;
    network.faults.onMessage = (_device: LinkedDevice, { attrs }: Stanza) => {
      if (!attrs.to?.endsWith('@lid')) return { error: 463 };
      if (isCut) return null;
      isCut = true;
      return 'drop_after_ledger';
    };
    const message = outbound(friend.jid, 'text', { text: 'once' });
    await assert.rejects(recorded.session.send(message), { name: 'SendUnavailable' });
    kept.epoch += 1;
    recorded = await openRecorded(driver, kept);
    await connected(recorded);
    await recorded.session.send(message);
    const marker = await sendText(recorded, friend.jid, 'marker');
    await friend.message(marker, WAIT_MS);
    assert.equal((await friend.message(message.networkId, WAIT_MS)).timesSeen, 1);
    await recorded.session.close();
  });

  it('by ids alone shows a status to its contacts', async () => {
    own.publish('critical_unblock_low', ['contact', friend.jid], {
      contactAction: { fullName: 'Friend', firstName: 'Friend' },
    });
    await until(() => recorded.facts.some(({ kind }) => kind === 'contact'), 'the contact', WAIT_MS);
    let participants: string[] = [];
    network.faults.onMessage = (_device: LinkedDevice, { attrs, content }: Stanza) => {
      if (attrs.to !== 'status@broadcast') return null;
      const list = (content as Stanza[]).find(({ tag }) => tag === 'participants');
      participants = ((list?.content ?? []) as Stanza[]).map((each) => each.attrs.jid!);
      return participants.some((jid) => jid.endsWith('@s.whatsapp.net')) ? { error: 479 } : null;
    };
    const message = outbound('status@broadcast', 'status_text', { text: 'story' });
    await recorded.session.send(message);
    const wire = (await friend.message(message.networkId, WAIT_MS)).wire;
    assert.equal((wire.extendedTextMessage as { text: string }).text, 'story');
    assert.ok(participants.length > 0);
    await recorded.session.close();
  });
});
