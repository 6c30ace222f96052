import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { after, before, test } from 'node:test';
import {
  type OutboundMedia,
  SendDeferred,
  SendRefused,
  SendUnavailable,
} from '@posthorn/core/network/driver.ts';
import { networkIdOf, newId } from '@posthorn/core/platform/ids.ts';
import type { WireMessage } from '@posthorn/network/whatsapp/wire/wire-types.ts';
import type { WhatsAppNetwork } from '../support/whatsapp/network.ts';
import { pairWhatsApp, reopenWhatsApp, startNetwork, until } from './whatsapp-harness.ts';

let network: WhatsAppNetwork;
let numbers = 0;
before(async () => {
  network = await startNetwork();
});
after(() => network.close());

/** The decrypted message of a phone, field by field. */
function wireOf(shown: { wire: unknown }): WireMessage {
  return shown.wire as WireMessage;
}

function newPhone(name?: string) {
  numbers += 1;
  return network.phone(`55118${String(numbers).padStart(8, '0')}`, name);
}

function mediaOf(bytes: Buffer, about: Partial<OutboundMedia> = {}): OutboundMedia {
  return {
    open: async () => Readable.from([bytes.subarray(0, 10), bytes.subarray(10)]),
    mimeType: 'image/jpeg',
    fileName: 'a.jpg',
    sizeBytes: bytes.length,
    ...about,
  };
}

test('a text arrives under our own id, and its receipts come back', async (t) => {
  const [own, friend] = [newPhone(), newPhone()];
  const instance = await pairWhatsApp(t, network, own);
  const id = await instance.send({ to: friend.jid, type: 'text', content: { text: 'Hello!' } });
  const shown = await friend.message(id);
  assert.equal(wireOf(shown).conversation, 'Hello!');
  await until(() => instance.receipts.some((receipt) => receipt.kind === 'delivered'), 'the delivery');
  friend.read([shown]);
  const read = await until(() => instance.receipts.find((receipt) => receipt.kind === 'read'), 'the reading');
  assert.deepEqual([read.networkId, read.chat, read.by], [id, friend.jid, friend.jid]);
});

test('a received text comes with its sender, and an answer quotes it', async (t) => {
  const [own, friend] = [newPhone(), newPhone('Ada')];
  const instance = await pairWhatsApp(t, network, own);
  const id = friend.text(own, 'Are you there?');
  const received = await until(() => instance.inbound[0], 'the message');
  assert.deepEqual(
    [received.networkId, received.chat, received.from, received.type, received.content],
    [id, friend.jid, friend.jid, 'text', { text: 'Are you there?' }],
  );
  const answer = await instance.send({
    to: friend.jid,
    type: 'text',
    content: { text: 'Yes' },
    quotedId: id,
  });
  const wire = wireOf(await friend.message(answer));
  assert.equal(wire.extendedTextMessage?.contextInfo?.stanzaId, id);
  assert.equal(wire.extendedTextMessage?.contextInfo?.quotedMessage?.conversation, 'Are you there?');
});

test('media is encrypted, uploaded and opened by the phone, and the same the other way', async (t) => {
  const [own, friend] = [newPhone(), newPhone()];
  const instance = await pairWhatsApp(t, network, own);
  const picture = randomBytes(50_000);
  const id = await instance.send({
    to: friend.jid,
    type: 'image',
    content: { caption: 'sea' },
    media: mediaOf(picture, { widthPx: 640, heightPx: 480 }),
  });
  const shown = await friend.message(id);
  assert.equal(wireOf(shown).imageMessage?.caption, 'sea');
  assert.deepEqual(friend.open(shown, 'image'), picture);
  const file = randomBytes(30_000);
  friend.file(own, 'document', file, { mimetype: 'application/pdf', fileName: 'bill.pdf' });
  const received = await until(() => instance.inbound[0], 'the document');
  assert.deepEqual([received.type, received.content], ['document', { file_name: 'bill.pdf' }]);
  const ref = JSON.parse(JSON.stringify(received.media!.ref));
  assert.deepEqual(await buffer(await instance.session.download({ ...received.media!, ref })), file);
  await assert.rejects(
    instance.session.download({ ...received.media!, ref: { ...ref, directPath: '/gone', of: undefined } }),
    (err) => err instanceof SendRefused && err.reason === 'media_expired',
  );
});

test('media goes again once the network has named its servers after all', async (t) => {
  const [own, friend] = [newPhone(), newPhone()];
  const instance = await pairWhatsApp(t, network, own);
  const picture = randomBytes(5_000);
  const image = { to: friend.jid, type: 'image', content: {}, media: mediaOf(picture) };
  const id = friend.file(own, 'image', picture, { mimetype: 'image/jpeg' });
  const received = await until(
    () => instance.inbound.find(({ networkId }) => networkId === id),
    'the picture',
  );
  network.faults.hidesMediaServers = 3;
  await assert.rejects(instance.send(image), new SendDeferred('media_upload_failed'));
  await assert.rejects(instance.session.download(received.media!), SendUnavailable);
  assert.equal(network.faults.hidesMediaServers, 0);
  assert.deepEqual(await buffer(await instance.session.download(received.media!)), picture);
  assert.deepEqual(friend.open(await friend.message(await instance.send(image)), 'image'), picture);
});

test('reactions, edits and deletions go both ways', async (t) => {
  const [own, friend] = [newPhone(), newPhone()];
  const instance = await pairWhatsApp(t, network, own);
  const id = await instance.send({ to: friend.jid, type: 'text', content: { text: 'Helo' } });
  await friend.message(id);
  const target = { id, from_me: true };
  const edit = await instance.send({ to: friend.jid, type: 'edit', content: { text: 'Hello' }, target });
  assert.equal(wireOf(await friend.message(edit)).protocolMessage?.editedMessage?.conversation, 'Hello');
  const removal = await instance.send({ to: friend.jid, type: 'delete', content: {}, target });
  assert.equal(wireOf(await friend.message(removal)).protocolMessage?.key?.id, id);
  const heard = friend.text(own, 'Hi');
  await until(() => instance.inbound.length === 1, 'the text');
  const reaction = await instance.send({
    to: friend.jid,
    type: 'reaction',
    content: { emoji: '👍' },
    target: { id: heard, from_me: false },
  });
  assert.equal(wireOf(await friend.message(reaction)).reactionMessage?.text, '👍');
  friend.send(own, { protocolMessage: { key: { remoteJid: own.jid, fromMe: true, id: heard }, type: 0 } });
  const change = await until(() => instance.changes[0], 'the deletion');
  assert.deepEqual([change.kind, change.networkId, change.chat], ['deleted', heard, friend.jid]);
});

test('a message of somebody else is deleted and pinned in groups alone, by an admin', async (t) => {
  const [own, friend, admin] = [newPhone(), newPhone(), newPhone()];
  const instance = await pairWhatsApp(t, network, own);
  const { jid: group } = network.group(admin, 'Friends', [own, friend]);
  const [direct, shared] = [friend.text(own, 'Hi'), friend.text(group, 'Hi all')];
  await until(() => instance.inbound.length === 2, 'both texts');
  for (const [to, id] of [
    [friend.jid, direct],
    [group, shared],
  ] as const) {
    const target = { id, from_me: false, sender: friend.jid };
    const refused = instance.send({ to, type: 'delete', content: {}, target });
    await assert.rejects(refused, (err) => err instanceof SendRefused && err.reason === 'not_allowed');
  }
  const pin = { chat: group, target: { id: shared, from_me: false }, pin: true, duration_s: 0 };
  const refused = instance.session.act('pin', pin);
  await assert.rejects(refused, (err) => err instanceof SendRefused && err.reason === 'not_admin');
  assert.deepEqual(
    friend.messages.filter(({ wire }) => wire.protocolMessage ?? wire.pinInChatMessage),
    [],
  );
});

test('votes in a poll of ours are read, and our vote in one of theirs is', async (t) => {
  const [own, friend] = [newPhone(), newPhone()];
  const instance = await pairWhatsApp(t, network, own);
  const secret = randomBytes(32);
  const poll = friend.send(own, {
    pollCreationMessageV3: {
      name: 'When?',
      options: [{ optionName: 'now' }, { optionName: 'later' }],
      selectableOptionsCount: 1,
    },
    messageContextInfo: { messageSecret: secret },
  });
  await until(() => instance.inbound.length === 1, 'the poll');
  const target = { id: poll, from_me: false, sender: friend.jid };
  const vote = { chat: friend.jid, target, options: ['later'] };
  const { envelope_id } = await instance.session.act('poll_vote', vote);
  const wire = wireOf(await friend.message(envelope_id));
  assert.equal(wire.pollUpdateMessage?.pollCreationMessageKey?.id, poll);
  await assert.rejects(
    instance.session.act('poll_vote', { ...vote, options: ['never'] }),
    (err) => err instanceof SendRefused && err.reason === 'invalid_option',
  );
});

test('sends to a number without an account, and those that the network refuses, fail with a reason', async (t) => {
  const [own, friend] = [newPhone(), newPhone()];
  const instance = await pairWhatsApp(t, network, own);
  const refusedAs = (reason: string) => (err: unknown) => err instanceof SendRefused && err.reason === reason;
  const to = '5511000000000@s.whatsapp.net';
  await assert.rejects(
    instance.send({ to, type: 'text', content: { text: 'x' } }),
    refusedAs('recipient_not_found'),
  );
  network.faults.onMessage = () => ({ error: 463 });
  t.after(() => {
    network.faults.onMessage = null;
  });
  const refused = instance.send({ to: friend.jid, type: 'text', content: { text: 'x' } });
  await assert.rejects(refused, refusedAs('new_chats_limited'));
  // The refusal does not say whether the account is limited.
  await until(() => instance.restrictions.length > 0, 'the restriction');
  assert.deepEqual(instance.restrictions, ['new_chats_limited']);
});

test('a send whose answer never comes is unknown, and the message is not sent again', async (t) => {
  const [own, friend] = [newPhone(), newPhone()];
  const instance = await pairWhatsApp(t, network, own, { sendTimeoutMs: 3_000 });
  network.faults.onMessage = () => 'hold_ack';
  t.after(() => {
    network.faults.onMessage = null;
  });
  const networkId = networkIdOf(newId());
  const sending = instance.send({ networkId, to: friend.jid, type: 'text', content: { text: 'x' } });
  await assert.rejects(sending, SendUnavailable);
  const seen = () => network.ledger.find((entry) => entry.id === networkId);
  await until(() => seen() !== undefined, 'the message at the network');
  assert.equal(seen()?.timesSeen, 1);
});

test('groups: a message to one, one from it, and its members', async (t) => {
  const [own, ada, bob] = [newPhone(), newPhone(), newPhone()];
  const instance = await pairWhatsApp(t, network, own);
  const group = network.group(ada, 'Rowers', [own, bob]);
  const id = await instance.send({ to: group.jid, type: 'text', content: { text: 'Hi all' } });
  assert.equal(wireOf(await ada.message(id)).conversation, 'Hi all');
  assert.equal(wireOf(await bob.message(id)).conversation, 'Hi all');
  const heard = bob.text(group.jid, 'Hi you');
  const received = await until(
    () => instance.inbound.find((message) => message.networkId === heard),
    'the answer',
  );
  assert.deepEqual([received.chat, received.from], [group.jid, bob.jid]);
  const info = await instance.session.act('group_info', { group: group.jid });
  assert.equal(info.name, 'Rowers');
  assert.deepEqual(info.participants.map(({ jid }) => jid).sort(), [own.jid, ada.jid, bob.jid].sort());
});

test('a message that was decrypted and not recorded is handed over by the next session', async (t) => {
  const [own, friend] = [newPhone(), newPhone()];
  const dies = await pairWhatsApp(t, network, own, {
    sink: {
      async inbound() {
        throw new Error('the database is away');
      },
    },
  });
  const id = friend.text(own, 'Do not lose me');
  const isStored = () =>
    [...dies.keys.rows].some(([row, value]) => row.startsWith('plain\n') && value.includes(id));
  await until(isStored, 'the plain text in the store');
  await dies.session.close();
  const next = await reopenWhatsApp(t, network, dies);
  const received = await until(() => next.inbound.find((message) => message.networkId === id), 'the message');
  assert.deepEqual(received.content, { text: 'Do not lose me' });
  assert.deepEqual(own.phone.failures.concat(friend.phone.failures), []);
});

test('a session that cannot store its keys sends nothing more, and the next one continues from there', async (t) => {
  const [own, friend] = [newPhone(), newPhone()];
  const first = await pairWhatsApp(t, network, own);
  await first.send({ to: friend.jid, type: 'text', content: { text: 'one' } });
  const { write } = first.keys;
  first.keys.write = async () => {
    throw new Error('the lease is lost');
  };
  const lost = first.send({ to: friend.jid, type: 'text', content: { text: 'two' } });
  await assert.rejects(lost);
  first.keys.write = write;
  await first.session.close();
  const next = await reopenWhatsApp(t, network, first);
  await until(() => next.connections === 1, 'the next login');
  const id = await next.send({ to: friend.jid, type: 'text', content: { text: 'three' } });
  assert.equal(wireOf(await friend.message(id)).conversation, 'three');
  assert.ok(!friend.messages.some((message) => wireOf(message).conversation === 'two'));
  assert.deepEqual(friend.phone.failures, []);
});
