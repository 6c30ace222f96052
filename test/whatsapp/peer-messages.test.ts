import assert from 'node:assert/strict';
import { after, before, describe, it, type Mock, mock } from 'node:test';
import { startWhatsAppNetwork, type WhatsAppNetwork } from '../support/whatsapp/network.ts';
import { type PhoneHandle, until } from '../support/whatsapp/phone-handle.ts';
import { connectRaw, pairRaw, type RawClient, type RawState } from '../support/whatsapp/raw-client.ts';

describe('between a client and the phones of the simulated WhatsApp network', () => {
  let network: WhatsAppNetwork;
  let ann: PhoneHandle;
  let bob: PhoneHandle;
  let client: RawClient;
  let state: RawState;
  let printed: Mock<(typeof console)['log']>[];
  before(async () => {
    // Earlier than this, files that share the process print too.
    printed = (['log', 'info', 'warn', 'error'] as const).map((level) =>
      mock.method(console, level, () => {}),
    );
    network = await startWhatsAppNetwork();
    ann = network.phone('999200000001', 'Ann');
    bob = network.phone('999200000002', 'Bob');
    [client, state] = await pairRaw(network, (qr) => ann.scan(qr));
  });
  after(async () => {
    await client?.close();
    await network?.close();
    assert.deepEqual(network.problems, []);
    assert.deepEqual(network.unknownQuestions, []);
    // The signal library used to print whole sessions, with their private keys.
    const calls = printed.flatMap((method) => method.mock.calls);
    mock.restoreAll();
    assert.deepEqual(calls, []);
  });

  it('a text arrives under the id that the client gave it, at the other phone and at the own one', async () => {
    await client.socket.sendMessage(bob.jid, { text: 'Hello' }, { messageId: '3EB0AA01' });
    const received = await bob.message('3EB0AA01');
    assert.deepEqual(received.wire.extendedTextMessage, { text: 'Hello' });
    assert.deepEqual([received.from, received.chat, received.timesSeen], [ann.number, ann.jid, 1]);
    assert.deepEqual(received.sealed, ['pkmsg']);
    const own = await ann.message('3EB0AA01');
    assert.deepEqual([own.fromMe, own.chat], [true, bob.jid]);
    const entry = network.ledger.find(({ id }) => id === '3EB0AA01');
    assert.deepEqual([entry?.number, entry?.to, entry?.timesSeen], [ann.number, bob.jid, 1]);
  });

  it('the client hears that it was delivered and read', async () => {
    await client.socket.sendMessage(bob.jid, { text: 'Read me' }, { messageId: '3EB0AA02' });
    const received = await bob.message('3EB0AA02');
    await until(
      () => client.statuses.some(({ id, status }) => id === '3EB0AA02' && status === 3),
      'delivered',
    );
    bob.read([received]);
    await until(() => client.statuses.some(({ id, status }) => id === '3EB0AA02' && status === 4), 'read');
  });

  it('a text of a phone arrives at the client, which confirms it and reads it', async () => {
    const id = bob.text(ann, 'Good morning');
    const received = await client.message(id);
    assert.equal(received.message?.conversation, 'Good morning');
    assert.deepEqual(
      [received.key.remoteJid, received.key.fromMe, received.pushName],
      [bob.jid, false, 'Bob'],
    );
    await client.socket.readMessages([received.key]);
    await bob.receipt(id, 'read');
  });

  it('after an answer both ends go on in the session', async () => {
    await client.socket.sendMessage(bob.jid, { text: 'And now' }, { messageId: '3EB0AA03' });
    assert.deepEqual((await bob.message('3EB0AA03')).sealed, ['msg']);
    await client.message(bob.text(ann, 'Still here'));
  });

  it('the same id sent twice is in the ledger with both, and the phone shows it once', async () => {
    for (let time = 0; time < 2; time += 1) {
      await client.socket.sendMessage(bob.jid, { text: 'Twice' }, { messageId: '3EB0AA04' });
    }
    await until(
      () => network.ledger.find(({ id, timesSeen }) => id === '3EB0AA04' && timesSeen === 2),
      'twice seen',
    );
    await until(
      () => bob.messages.find(({ id, timesSeen }) => id === '3EB0AA04' && timesSeen === 2),
      'twice at Bob',
    );
    assert.equal(bob.messages.filter(({ id }) => id === '3EB0AA04').length, 1);
  });

  it('messages that the user writes on the own phone come as sent by the account', async () => {
    const id = ann.text(bob, 'From my phone');
    const received = await client.message(id);
    assert.deepEqual([received.key.fromMe, received.key.remoteJid], [true, bob.jid]);
    assert.equal(received.message?.conversation, 'From my phone');
  });

  it('messages that came while the client was away come with its next login, in order', async () => {
    await client.close();
    const ids = ['one', 'two', 'three'].map((text) => bob.text(ann, text));
    client = await connectRaw(network, state);
    await client.opened();
    for (const id of ids) await client.message(id);
    assert.deepEqual(
      client.messages.filter(({ key }) => ids.includes(key.id)).map(({ key }) => key.id),
      ids,
    );
    await until(() => ann.device.pending.length === 0, 'the client has confirmed everything');
  });
});
