import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { buffer } from 'node:stream/consumers';
import { after, before, test } from 'node:test';
import { SendRefused, SendUnavailable } from '@posthorn/core/network/driver.ts';
import { waitFor } from '../support/process.ts';
import type { WhatsAppNetwork } from '../support/whatsapp/network.ts';
import { children, type Stanza, type WireMessage } from '../support/whatsapp/nodes.ts';
import { firstFetch, pairWhatsApp, startNetwork, until, type WhatsAppInstance } from './whatsapp-harness.ts';

let network: WhatsAppNetwork;
let numbers = 0;
before(async () => {
  network = await startNetwork();
});
after(() => network.close());

function newPhone(name?: string) {
  numbers += 1;
  return network.phone(`55116${String(numbers).padStart(8, '0')}`, name);
}

type Fact = WhatsAppInstance['facts'][number];
function fact<K extends Fact['kind']>(
  instance: WhatsAppInstance,
  kind: K,
  fits: (fact: Extract<Fact, { kind: K }>) => boolean = () => true,
) {
  const find = () =>
    instance.facts.find((each): each is Extract<Fact, { kind: K }> => {
      return each.kind === kind && fits(each as Extract<Fact, { kind: K }>);
    });
  return until(find, `a fact ${kind} among ${JSON.stringify(instance.facts)}`);
}

test('a notification that names several collections has all of them fetched', async (t) => {
  const [own, friend] = [newPhone(), newPhone()];
  const instance = await pairWhatsApp(t, network, own);
  await firstFetch(own);
  const { device } = own;
  const held: Stanza[] = [];
  const deliver = device.deliver.bind(device);
  device.deliver = (stanza) => void held.push(stanza);
  own.publish('regular_low', ['archive', friend.jid], { archiveChatAction: { archived: true } });
  own.publish('regular', ['label_edit', '7'], { labelEditAction: { name: 'New', color: 2, deleted: false } });
  own.publish('critical_unblock_low', ['contact', friend.jid], { contactAction: { fullName: 'Ada' } });
  own.publish('regular_high', ['mute', friend.jid], {
    muteAction: { muted: true, muteEndTimestamp: 1_900_000_000_000 },
  });
  device.deliver = deliver;
  const collections = held.flatMap((stanza) => children(stanza, 'collection'));
  assert.equal(collections.length, 4);
  // An unknown collection is skipped.
  const unknown = { tag: 'collection', attrs: { name: 'unknown', version: '1' } };
  device.deliver({ ...held[0]!, content: [...collections, unknown, collections[1]!] });
  await fact(instance, 'chat', ({ chat, archived }) => chat === friend.jid && archived === true);
  await fact(instance, 'label', ({ labelId }) => labelId === '7');
  await fact(instance, 'contact', ({ jid }) => jid === friend.jid);
  await fact(instance, 'chat', ({ mutedUntil }) => mutedUntil === 1_900_000_000_000);
});

test('a collection that the network leaves out of its answer is not asked for again and again', async (t) => {
  const [own, friend] = [newPhone(), newPhone()];
  const instance = await pairWhatsApp(t, network, own);
  const { device } = own;
  network.faults.leavesOut = 'regular_low';
  t.after(() => {
    network.faults.leavesOut = null;
  });
  device.leftOut = 0;
  await firstFetch(own);
  own.publish('regular_low', ['archive', friend.jid], { archiveChatAction: { archived: true } });
  own.publish('regular', ['label_edit', '9'], {
    labelEditAction: { name: 'Behind', color: 2, deleted: false },
  });
  await fact(instance, 'label', ({ labelId }) => labelId === '9');
  // Once for the notification, and once for the fetch after a pairing.
  assert.ok(device.leftOut <= 2, `asked ${device.leftOut} times`);
  network.faults.leavesOut = null;
  own.publish('regular_low', ['archive', own.jid], { archiveChatAction: { archived: true } });
  await fact(instance, 'chat', ({ chat, archived }) => chat === friend.jid && archived === true);
});

test('changes on the phone reach the instance: labels, chats, contacts and stars', async (t) => {
  const [own, friend] = [newPhone(), newPhone()];
  const instance = await pairWhatsApp(t, network, own);
  await firstFetch(own);
  own.publish('regular', ['label_edit', '3'], {
    labelEditAction: { name: 'VIP', color: 4, deleted: false },
  });
  const label = await fact(instance, 'label');
  assert.deepEqual([label.labelId, label.name, label.color, label.deleted], ['3', 'VIP', 4, false]);
  own.publish('regular', ['label_jid', '3', friend.jid], { labelAssociationAction: { labeled: true } });
  const link = await fact(instance, 'label_chat');
  assert.deepEqual([link.labelId, link.chat, link.associated], ['3', friend.jid, true]);
  own.publish('regular_low', ['archive', friend.jid], { archiveChatAction: { archived: true } });
  await fact(instance, 'chat', ({ chat, archived }) => chat === friend.jid && archived === true);
  own.publish('regular_high', ['mute', friend.jid], {
    muteAction: { muted: true, muteEndTimestamp: 1_900_000_000_000 },
  });
  await fact(instance, 'chat', ({ mutedUntil }) => mutedUntil === 1_900_000_000_000);
  own.publish('critical_unblock_low', ['contact', friend.jid], {
    contactAction: { fullName: 'Ada Lovelace', firstName: 'Ada' },
  });
  const contact = await fact(instance, 'contact', ({ jid }) => jid === friend.jid);
  assert.equal(contact.name, 'Ada Lovelace');
  const revisions = instance.facts.flatMap((each) => ('revision' in each ? [each.revision] : []));
  assert.deepEqual(
    revisions,
    [...revisions].sort((one, other) => one - other),
    'revisions grow',
  );
});

test('changes by the instance reach the phone, and the answer has the revision of the fact', async (t) => {
  const [own, friend] = [newPhone(), newPhone()];
  const instance = await pairWhatsApp(t, network, own);
  await until(() => instance.keys.rows.has('creds\nme') && own.phone.devices.size > 0, 'the pairing');
  const id = friend.text(own, 'Hi');
  await until(() => instance.inbound.length === 1, 'a text');
  const { act } = instance.session;
  // The phone hands over the needed key some moments after the pairing.
  const { revision } = await waitFor(() =>
    act('chat_archive', { chat: friend.jid, archived: true }).catch((err: unknown) => {
      if (err instanceof SendUnavailable) return null;
      throw err;
    }),
  );
  await fact(instance, 'chat', (each) => each.revision === revision && each.archived === true);
  await act('chat_pin', { chat: friend.jid, pinned: true });
  await act('chat_mute', { chat: friend.jid, until: 0 });
  await act('chat_read', { chat: friend.jid, read: true, message_ids: [id] });
  await act('label_edit', { label_id: '5', name: 'New', color: 1, deleted: false, is_new: true });
  await act('label_chat', { label_id: '5', chat: friend.jid, associated: true });
  await act('star', { chat: friend.jid, target: { id, from_me: false }, starred: true });
  const kinds = own.phone.mutations.map(({ index }) => index[0]);
  assert.deepEqual(
    kinds.filter((kind) => kind !== 'setting_pushName'),
    ['archive', 'pin_v1', 'mute', 'markChatAsRead', 'label_edit', 'label_jid', 'star'],
  );
  await friend.receipt(id, 'read');
  await until(() => instance.changes.some((change) => change.kind === 'starred'), 'the star');
});

// whatsmeow makes such a change anew, too: the network refuses the patch within an answer that is no error.
test('a change by the instance is made although the phone has changed something just before', async (t) => {
  const [own, friend] = [newPhone(), newPhone()];
  const instance = await pairWhatsApp(t, network, own);
  await firstFetch(own);
  const id = friend.text(own, 'Hi');
  await until(() => instance.inbound.length === 1, 'a text');
  const { session } = instance;
  await waitFor(() =>
    session.act('chat_pin', { chat: friend.jid, pinned: true }).catch((err: unknown) => {
      if (err instanceof SendUnavailable) return null;
      throw err;
    }),
  );
  const before = (collection: string, index: string[], value: WireMessage) => {
    network.faults.beforePatch = () => own.publish(collection, index, value);
  };
  before('regular_low', ['archive', friend.jid], { archiveChatAction: { archived: true } });
  await session.act('chat_pin', { chat: friend.jid, pinned: false });
  before('regular_high', ['mute', friend.jid], { muteAction: { muted: true, muteEndTimestamp: -1 } });
  await session.act('star', { chat: friend.jid, target: { id, from_me: false }, starred: true });
  before('critical_block', ['setting_locale'], { localeSetting: { locale: 'pt_BR' } });
  await session.act('profile_update', { name: 'Acme' });
  const made = own.phone.mutations.map(({ index: [kind] }) => kind);
  assert.deepEqual(made, ['pin_v1', 'pin_v1', 'star', 'setting_pushName']);
  await fact(instance, 'chat', ({ archived }) => archived === true);
});

for (const addressing of ['pn', 'lid'] as const)
  test(`a star in a group of ${addressing} names the author as the phone does`, async (t) => {
    const [own, friend] = [newPhone(), newPhone()];
    const instance = await pairWhatsApp(t, network, own);
    await firstFetch(own);
    const { jid: chat } = network.group(friend, 'Friends', [own], addressing);
    const id = friend.text(chat, 'Star this');
    const mine = own.text(chat, 'And this');
    await until(() => instance.inbound.length === 2, 'the texts');
    const target = { id, from_me: false, sender: friend.jid };
    await waitFor(() =>
      instance.session.act('star', { chat, target, starred: true }).catch((err: unknown) => {
        if (err instanceof SendUnavailable) return null;
        throw err;
      }),
    );
    await instance.session.act('star', { chat, target: { id: mine, from_me: true }, starred: true });
    const stars = own.phone.mutations.filter(({ index }) => index[0] === 'star');
    const author = addressing === 'lid' ? friend.lid : friend.jid;
    assert.deepEqual(
      stars.map(({ collection, index }) => [collection, ...index]),
      [
        ['regular_high', 'star', chat, id, '0', author],
        ['regular_high', 'star', chat, mine, '1', '0'],
      ],
    );
  });

test('calls ring once, presence and typing are reported, and contacts can be checked', async (t) => {
  const [own, friend] = [newPhone(), newPhone()];
  const instance = await pairWhatsApp(t, network, own);
  const callId = friend.call(own, 'offer');
  const call = await fact(instance, 'call');
  assert.deepEqual([call.callId, call.from, call.video, call.group], [callId, friend.jid, false, null]);
  friend.call(own, 'terminate', callId);
  await instance.session.act('presence_subscribe', { jid: friend.jid });
  friend.show(own, 'composing');
  const typing = await until(
    () => instance.presence.find(({ state }) => state === 'composing'),
    'the typing',
  );
  assert.deepEqual([typing.jid, typing.chat], [friend.jid, friend.jid]);
  friend.show(own, 'available');
  await until(
    () => instance.presence.some(({ state, chat }) => state === 'available' && chat === null),
    'being there',
  );
  const checked = await instance.session.act('contacts_check', { phones: [friend.number, '5511000000000'] });
  assert.deepEqual(
    checked.map(({ exists, jid }) => [exists, jid]),
    [
      [true, friend.jid],
      [false, null],
    ],
  );
  assert.equal(instance.facts.filter(({ kind }) => kind === 'call').length, 1);
});

test('the instance learns the phone behind an anonymous id, whose chat is the chat of the phone', async (t) => {
  const [own, ada, bob] = [newPhone(), newPhone(), newPhone()];
  const instance = await pairWhatsApp(t, network, own);
  const group = network.group(ada, 'Hidden', [own, bob], 'lid');
  const id = bob.text(group.jid, 'Hi');
  const received = await until(
    () => instance.inbound.find((message) => message.networkId === id),
    'the text',
  );
  assert.deepEqual([received.chat, received.from], [group.jid, bob.jid]);
  const lid = await fact(instance, 'lid', ({ phone }) => phone === bob.number);
  assert.equal(lid.lid, bob.lid);
  assert.deepEqual(await instance.session.act('lid_phone', { lid: bob.lid }), { phone: bob.number });
});

test('groups are made, changed and left, and changes by others reach the instance', async (t) => {
  const [own, ada] = [newPhone(), newPhone()];
  const instance = await pairWhatsApp(t, network, own);
  const { act } = instance.session;
  const { group, refused } = await act('group_create', { name: 'Rowers', participants: [ada.jid] });
  assert.deepEqual([group.name, refused], ['Rowers', []]);
  assert.deepEqual(group.participants.map(({ jid }) => jid).sort(), [own.jid, ada.jid].sort());
  const renamed = await act('group_update', { group: group.jid, name: 'Sailors' });
  assert.equal(renamed.name, 'Sailors');
  const listed = await act('groups_list', {});
  assert.ok(listed.some(({ jid, name }) => jid === group.jid && name === 'Sailors'));
  await act('group_leave', { group: group.jid });
});

test('outcomes in a group name each person by the anonymous id or phone that the request used', async (t) => {
  const [own, ada, stranger] = [newPhone(), newPhone(), newPhone()];
  const instance = await pairWhatsApp(t, network, own);
  const { act } = instance.session;
  ada.text(own, 'Hello');
  await fact(instance, 'lid', ({ phone }) => phone === ada.number);
  const { group, refused } = await act('group_create', { name: 'Rowers', participants: [ada.lid] });
  assert.deepEqual(refused, []);
  const participants = [ada.lid, ada.jid, stranger.jid];
  const added = await act('group_participants', { group: group.jid, action: 'add', participants });
  assert.deepEqual(
    new Set(added.refused.map(({ jid, reason }) => `${jid} ${reason}`)),
    new Set([`${ada.lid} already_in`, `${ada.jid} already_in`]),
  );
});

test('media that the network has forgotten is uploaded again by its sender', async (t) => {
  const [own, friend] = [newPhone(), newPhone()];
  const instance = await pairWhatsApp(t, network, own);
  const picture = randomBytes(20_000);
  friend.file(own, 'image', picture, { mimetype: 'image/jpeg' });
  const received = await until(() => instance.inbound[0], 'the picture');
  const ref = received.media!.ref as { directPath: string };
  network.media.blobs.delete(ref.directPath);
  assert.deepEqual(await buffer(await instance.session.download(received.media!)), picture);
  const gone = { ...received.media!, ref: { ...ref, directPath: '/never', of: undefined } };
  await assert.rejects(
    instance.session.download(gone),
    (err) => err instanceof SendRefused && err.reason === 'media_expired',
  );
});

test('a sender who does not upload media again is not asked for the next one, and others still are', async (t) => {
  const [own, friend, other] = [newPhone(), newPhone(), newPhone()];
  const instance = await pairWhatsApp(t, network, own);
  const picture = randomBytes(1_000);
  const sent = [friend, friend, other].map((phone) =>
    phone.file(own, 'image', picture, { mimetype: 'image/jpeg' }),
  );
  await until(() => instance.inbound.length === sent.length, 'the pictures');
  const download = (id: string) => {
    const { media } = instance.inbound.find(({ networkId }) => networkId === id)!;
    network.media.blobs.delete((media!.ref as { directPath: string }).directPath);
    return instance.session.download(media!);
  };
  const isExpired = (err: unknown) => err instanceof SendRefused && err.reason === 'media_expired';
  friend.goOffline();
  await assert.rejects(download(sent[0]!), isExpired);
  friend.comeOnline();
  await assert.rejects(download(sent[1]!), isExpired);
  assert.deepEqual(await buffer(await download(sent[2]!)), picture);
});
