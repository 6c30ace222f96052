import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { startWhatsAppNetwork, type WhatsAppNetwork } from '../support/whatsapp/network.ts';
import { type PhoneHandle, until } from '../support/whatsapp/phone-handle.ts';
import { pairRaw, type RawClient } from '../support/whatsapp/raw-client.ts';

describe('groups, statuses and presence on the simulated WhatsApp network', () => {
  let network: WhatsAppNetwork;
  let ann: PhoneHandle;
  let bob: PhoneHandle;
  let cat: PhoneHandle;
  let client: RawClient;
  before(async () => {
    network = await startWhatsAppNetwork();
    ann = network.phone('999500000001', 'Ann');
    bob = network.phone('999500000002', 'Bob');
    cat = network.phone('999500000003', 'Cat');
    [client] = await pairRaw(network, (qr) => ann.scan(qr));
  });
  after(async () => {
    await client?.close();
    await network?.close();
    assert.deepEqual(network.problems, []);
    assert.deepEqual(network.unknownQuestions, []);
  });

  it('says who is there', async () => {
    const found = await client.socket.onWhatsApp(bob.number, '999599999999');
    // The library leaves out numbers without an account.
    assert.deepEqual(found, [{ jid: bob.jid, exists: true }]);
  });

  for (const addressing of ['pn', 'lid'] as const) {
    it(`a group message reaches every member, in a group that shows ${addressing}`, async () => {
      const group = network.group(ann, 'Friends', [bob, cat], addressing);
      for (const [nth, sealed] of [
        [1, ['pkmsg', 'skmsg']],
        [2, ['skmsg']],
      ] as const) {
        const id = `3EB0DD${addressing}${nth}`;
        await client.socket.sendMessage(group.jid, { text: 'To all' }, { messageId: id });
        for (const member of [bob, cat]) {
          const received = await member.message(id);
          assert.deepEqual([received.chat, received.from], [group.jid, ann.number]);
          assert.deepEqual(received.sealed.slice(-1), sealed.slice(-1));
        }
      }
      const ids = [bob.text(group.jid, 'From Bob'), bob.text(group.jid, 'Again')];
      for (const id of ids) {
        const received = await client.message(id);
        assert.equal(received.key.remoteJid, group.jid);
        assert.equal(received.key.participant, addressing === 'lid' ? bob.lid : bob.jid);
      }
    });
  }

  it('a client makes a group and asks about it', async () => {
    const made = await client.socket.groupCreate('New', [bob.jid]);
    const info = await client.socket.groupMetadata(made.id);
    assert.equal(info.subject, 'New');
    assert.deepEqual(
      info.participants.map(({ admin }) => admin),
      ['superadmin', null],
    );
  });

  it('a status reaches its audience and nobody else', async () => {
    const options = { messageId: '3EB0DD09', statusJidList: [bob.jid] };
    await client.socket.sendMessage('status@broadcast', { text: 'My day' }, options);
    const received = await bob.message('3EB0DD09');
    assert.deepEqual([received.chat, received.from], ['status@broadcast', ann.number]);
    assert.equal(
      cat.messages.some(({ id }) => id === '3EB0DD09'),
      false,
    );
  });

  it('a phone’s status comes to the client', async () => {
    const id = bob.send('status@broadcast', { conversation: 'Bob’s day' }, { audience: [ann] });
    const received = await client.message(id);
    assert.deepEqual([received.key.remoteJid, received.key.participant], ['status@broadcast', bob.jid]);
  });

  it('typing is shown, both ways', async () => {
    await client.socket.sendPresenceUpdate('composing', bob.jid);
    await until(
      () => bob.phone.typing.some(({ from, state }) => from === ann.number && state === 'composing'),
      'typing',
    );
    bob.show(ann, 'recording');
    await until(() => client.presences.length > 0, 'the client is told');
    assert.deepEqual(client.presences.at(-1), {
      id: bob.jid,
      presences: { [bob.jid]: { lastKnownPresence: 'recording' } },
    });
  });
});
