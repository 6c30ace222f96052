import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { buffer } from 'node:stream/consumers';
import { after, before, test } from 'node:test';
import { SendRefused } from '@posthorn/core/network/driver.ts';
import type { WireMessage } from '@posthorn/network/whatsapp/wire/wire-types.ts';
import type { WhatsAppNetwork } from '../support/whatsapp/network.ts';
import { loadCoding, node } from '../support/whatsapp/nodes.ts';
import { pairWhatsApp, reopenWhatsApp, startNetwork, until } from './whatsapp-harness.ts';

let network: WhatsAppNetwork;
let numbers = 0;
before(async () => {
  network = await startNetwork();
});
after(() => network.close());

function newPhone(name?: string) {
  numbers += 1;
  return network.phone(`55117${String(numbers).padStart(8, '0')}`, name);
}

function wireOf(shown: { wire: unknown }): WireMessage {
  return shown.wire as WireMessage;
}

for (const addressing of ['pn', 'lid'] as const) {
  test(`a message that the phone sends is received as its own in the chat it was sent to, by ${addressing}`, async (t) => {
    const [own, friend] = [newPhone('Desk'), newPhone()];
    const instance = await pairWhatsApp(t, network, own);
    const id = own.text(friend, 'On my way', { addressing });
    const told = await until(() => instance.inbound[0], 'the text');
    assert.deepEqual(
      [told.networkId, told.chat, told.from, told.fromMe, told.type, told.content],
      [id, friend.jid, own.jid, true, 'text', { text: 'On my way' }],
    );
    // The names in its envelope confuse nobody with somebody else.
    for (const fact of instance.facts) {
      if (fact.kind !== 'lid') continue;
      const person = [own, friend].find(({ lid }) => lid === fact.lid);
      assert.equal(fact.phone, person?.number);
    }
    for (const { number, lid } of [own, friend]) {
      const known = instance.keys.rows.get(`lid-mapping\n${number}`);
      assert.ok(known === undefined || known === JSON.stringify(lid.split('@')[0]), `${number}: ${known}`);
    }
    own.hears(friend, id);
    own.hears(friend, id, 'read');
    const read = await until(() => instance.receipts.find(({ kind }) => kind === 'read'), 'the reading');
    assert.deepEqual([read.networkId, read.chat, read.by], [id, friend.jid, friend.jid]);
  });
}

test('media that the phone sends can be opened, and its edits, reactions and deletions name it', async (t) => {
  const [own, friend] = [newPhone(), newPhone()];
  const instance = await pairWhatsApp(t, network, own);
  const picture = randomBytes(20_000);
  const id = own.file(friend, 'image', picture, { mimetype: 'image/jpeg', caption: 'see' });
  const told = await until(() => instance.inbound[0], 'the picture');
  assert.deepEqual([told.fromMe, told.type, told.content], [true, 'image', { caption: 'see' }]);
  assert.deepEqual(await buffer(await instance.session.download(told.media!)), picture);
  const key = { remoteJid: friend.jid, fromMe: true, id };
  const editedMessage = {
    imageMessage: { ...wireOf({ wire: own.phone.sent.get(id)!.message }).imageMessage, caption: 'sea' },
  };
  own.send(friend, { protocolMessage: { key, type: 'MESSAGE_EDIT', editedMessage } });
  own.send(friend, { reactionMessage: { key, text: '🌊' } }, { type: 'reaction' });
  own.send(friend, { protocolMessage: { key, type: 'REVOKE' } });
  await until(() => instance.changes.length === 2 && instance.inbound.length === 2, 'what became of it');
  assert.deepEqual(
    instance.changes.map(({ kind, networkId, chat, fromMe }) => [kind, networkId, chat, fromMe]),
    [
      ['edited', id, friend.jid, true],
      ['deleted', id, friend.jid, true],
    ],
  );
  const [, reaction] = instance.inbound;
  assert.deepEqual([reaction!.fromMe, reaction!.content], [true, { message_id: id, emoji: '🌊' }]);
});

for (const addressing of ['pn', 'lid'] as const) {
  test(`a message that the phone sends to a group or as a status is its own too, by ${addressing}`, async (t) => {
    const [own, friend] = [newPhone(), newPhone()];
    const instance = await pairWhatsApp(t, network, own);
    const group = network.group(own, 'Team', [friend], addressing);
    const ids = [
      own.text(group.jid, 'Hello, all'),
      own.text('status@broadcast', 'Closed today', { addressing }),
      own.text(own, 'Note to self'),
    ];
    await until(() => instance.inbound.length === 3, 'all three');
    // Messages of different chats are decrypted in parallel.
    const told = ids.map((id) => instance.inbound.find(({ networkId }) => networkId === id)!);
    assert.deepEqual(
      told.map(({ networkId, chat, from, fromMe }) => [networkId, chat, from, fromMe]),
      [group.jid, 'status@broadcast', own.jid].map((chat, nth) => [ids[nth], chat, own.jid, true]),
    );
  });
}

test('a status of somebody else under both of their names is a status, and not ours', async (t) => {
  const [own, friend] = [newPhone(), newPhone()];
  const instance = await pairWhatsApp(t, network, own);
  friend.send('status@broadcast', { conversation: 'News' }, { addressing: 'lid', audience: [own] });
  const told = await until(() => instance.inbound[0], 'the status');
  assert.deepEqual([told.chat, told.from, told.fromMe], ['status@broadcast', friend.jid, undefined]);
});

test('a poll that the phone sends can be read', async (t) => {
  const [own, friend] = [newPhone(), newPhone()];
  const instance = await pairWhatsApp(t, network, own);
  const poll = own.send(friend, {
    pollCreationMessageV3: {
      name: 'When?',
      options: [{ optionName: 'now' }, { optionName: 'later' }],
      selectableOptionsCount: 1,
    },
    messageContextInfo: { messageSecret: randomBytes(32) },
  });
  const told = await until(() => instance.inbound[0], 'the poll');
  assert.deepEqual([told.networkId, told.fromMe, told.content.options], [poll, true, ['now', 'later']]);
});

test('protocol messages between devices are not received, and neither are those that the session itself sent', async (t) => {
  const [own, friend] = [newPhone(), newPhone()];
  const instance = await pairWhatsApp(t, network, own);
  const sent = await instance.send({ to: friend.jid, type: 'text', content: { text: 'Hello' } });
  await own.message(sent);
  const id = own.text(friend, 'Typed');
  await until(() => instance.inbound.length > 0, 'the text');
  assert.deepEqual(
    instance.inbound.map(({ networkId }) => networkId),
    [id],
  );
});

test('an unencrypted message, which anybody on the way could write, is not received', async (t) => {
  const [own, friend] = [newPhone(), newPhone()];
  const instance = await pairWhatsApp(t, network, own);
  const { encodeMessage } = await loadCoding();
  const forged = [node('plaintext', {}, encodeMessage({ conversation: 'Forged' }))];
  const attrs = { t: String(Math.floor(Date.now() / 1_000)), type: 'text' };
  own.device.deliver(node('message', { ...attrs, id: 'F1', from: friend.jid }, forged));
  own.device.deliver(node('message', { ...attrs, id: 'F2', from: own.jid, recipient: friend.jid }, forged));
  const id = friend.text(own, 'Mine');
  await until(() => instance.inbound.some(({ networkId }) => networkId === id), 'the text behind them');
  assert.deepEqual(
    instance.inbound.map(({ content }) => content.text),
    ['Mine'],
  );
});

test('messages that the phone sent while no session was open come with the next one, in order with received ones', async (t) => {
  const [own, friend] = [newPhone(), newPhone()];
  const instance = await pairWhatsApp(t, network, own);
  await instance.session.close();
  const ids = [friend.text(own, 'Are you there?'), own.text(friend, 'Yes'), friend.text(own, 'Good')];
  const next = await reopenWhatsApp(t, network, instance);
  await until(() => next.inbound.length === 3, 'all three');
  assert.deepEqual(
    next.inbound.map(({ networkId, fromMe = false }) => [networkId, fromMe]),
    ids.map((id, nth) => [id, nth === 1]),
  );
});

/** A message of each author is edited, and then quoted and forwarded by the instance. */
const AUTHORS = ['this session', 'the phone', 'the friend'] as const;
for (const author of AUTHORS) {
  test(`a quote and a forward of an edited message of ${author} have the new words`, async (t) => {
    const [own, friend, other] = [newPhone(), newPhone(), newPhone()];
    const instance = await pairWhatsApp(t, network, own);
    const fromMe = author !== 'the friend';
    const writer = fromMe ? own : friend;
    const reader = fromMe ? friend : own;
    let id: string;
    if (author === 'this session') {
      id = await instance.send({ to: friend.jid, type: 'text', content: { text: 'Frist' } });
      const target = { id, from_me: true };
      await instance.send({ to: friend.jid, type: 'edit', content: { text: 'First' }, target });
    } else {
      id = writer.text(reader, 'Frist');
      await until(() => instance.inbound.length === 1, 'the text');
      const key = { remoteJid: reader.jid, fromMe: true, id };
      const editedMessage = { conversation: 'First' };
      writer.send(reader, { protocolMessage: { key, type: 'MESSAGE_EDIT', editedMessage } });
      await until(() => instance.changes.length === 1, 'the edit');
    }
    const text = { type: 'text', content: { text: 'As said' } };
    const quote = await instance.send({ to: friend.jid, ...text, quotedId: id });
    const quoted = wireOf(await friend.message(quote)).extendedTextMessage?.contextInfo?.quotedMessage;
    assert.equal(quoted?.conversation, 'First');
    const source = { chat: friend.jid, id, from_me: fromMe };
    const forward = await instance.send({ to: other.jid, type: 'text', content: { text: 'First' }, source });
    const copy = wireOf(await other.message(forward));
    assert.equal(copy.conversation ?? copy.extendedTextMessage?.text, 'First');
  });
}

for (const author of AUTHORS) {
  test(`a quote of a deleted message of ${author} has none of its words, and nothing is left to forward`, async (t) => {
    const [own, friend, other] = [newPhone(), newPhone(), newPhone()];
    const instance = await pairWhatsApp(t, network, own);
    const fromMe = author !== 'the friend';
    const writer = fromMe ? own : friend;
    const reader = fromMe ? friend : own;
    let id: string;
    if (author === 'this session') {
      id = await instance.send({ to: friend.jid, type: 'text', content: { text: 'Secret' } });
      const target = { id, from_me: true };
      await instance.send({ to: friend.jid, type: 'delete', content: {}, target });
    } else {
      id = writer.text(reader, 'Secret');
      await until(() => instance.inbound.length === 1, 'the text');
      const key = { remoteJid: reader.jid, fromMe: true, id };
      writer.send(reader, { protocolMessage: { key, type: 'REVOKE' } });
      const editedMessage = { conversation: 'Secret, too' };
      writer.send(reader, { protocolMessage: { key, type: 'MESSAGE_EDIT', editedMessage } });
      await until(() => instance.changes.length === 2, 'the deletion, and the edit behind it');
    }
    const text = { type: 'text', content: { text: 'As said' } };
    const quote = await instance.send({ to: friend.jid, ...text, quotedId: id });
    const context = wireOf(await friend.message(quote)).extendedTextMessage?.contextInfo;
    assert.deepEqual(
      [context?.stanzaId, context?.participant, context?.quotedMessage?.conversation ?? ''],
      [id, writer.jid, ''],
    );
    const source = { chat: friend.jid, id, from_me: fromMe };
    const forward = instance.send({ to: other.jid, type: 'text', content: {}, source });
    await assert.rejects(forward, new SendRefused('forward_source_not_found'));
  });
}

test('a caption that was edited is quoted and forwarded with its picture', async (t) => {
  const [own, friend, other] = [newPhone(), newPhone(), newPhone()];
  const instance = await pairWhatsApp(t, network, own);
  const id = friend.file(own, 'image', randomBytes(5_000), { mimetype: 'image/jpeg', caption: 'see' });
  await until(() => instance.inbound.length === 1, 'the picture');
  const key = { remoteJid: own.jid, fromMe: true, id };
  const editedMessage = { imageMessage: { caption: 'sea' } };
  friend.send(own, { protocolMessage: { key, type: 'MESSAGE_EDIT', editedMessage } });
  await until(() => instance.changes.length === 1, 'the edit');
  const source = { chat: friend.jid, id, from_me: false };
  const forward = await instance.send({ to: other.jid, type: 'image', content: {}, source });
  const image = wireOf(await other.message(forward)).imageMessage;
  assert.equal(image?.caption, 'sea');
  assert.ok(image?.mediaKey?.length);
});

test('words of an edit that nobody was allowed to make are kept from quotes', async (t) => {
  const [own, friend, stranger] = [newPhone(), newPhone(), newPhone()];
  const instance = await pairWhatsApp(t, network, own);
  const group = network.group(own, 'Team', [friend, stranger], 'pn');
  const id = friend.text(group.jid, 'Mine');
  await until(() => instance.inbound.length === 1, 'the text');
  const key = { remoteJid: group.jid, fromMe: false, id, participant: friend.jid };
  const editedMessage = { conversation: 'Not mine' };
  stranger.send(group.jid, { protocolMessage: { key, type: 'MESSAGE_EDIT', editedMessage } });
  stranger.text(group.jid, 'Behind it');
  await until(() => instance.inbound.length === 2, 'what came behind it');
  const text = { type: 'text', content: { text: 'As said' } };
  const quote = await instance.send({ to: group.jid, ...text, quotedId: id });
  const wire = wireOf(await friend.message(quote));
  assert.equal(wire.extendedTextMessage?.contextInfo?.quotedMessage?.conversation, 'Mine');
});

for (const addressing of ['pn', 'lid'] as const)
  test(`who read messages to a group of ${addressing} while others were away is told one by one`, async (t) => {
    const [own, friend, other] = [newPhone(), newPhone(), newPhone()];
    const instance = await pairWhatsApp(t, network, own);
    const { jid } = network.group(own, 'Friends', [friend, other], addressing);
    // Numbers are known of those who have written.
    for (const member of [friend, other]) member.text(jid, 'Hello');
    const ids = [own.text(jid, 'One'), own.text(jid, 'Two')];
    await until(() => instance.inbound.length === 4, 'all texts');
    own.hearsTogether([friend, other], ids, 'read');
    await until(() => instance.receipts.length === 4, 'all receipts');
    assert.deepEqual(
      instance.receipts.map(({ networkId, kind, chat, by }) => [networkId, kind, chat, by]),
      ids.flatMap((id) => [friend, other].map((by) => [id, 'read', jid, by.jid])),
    );
    await until(() => own.device.pending.length === 0, 'it is confirmed');
  });
