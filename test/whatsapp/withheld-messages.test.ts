import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { after, afterEach, before, beforeEach, describe, it } from 'node:test';
import type { InboundMessage } from '@posthorn/core/network/driver.ts';
import { type BesiegedAccount, startBesieged } from '../support/whatsapp/hostile.ts';
import { node } from '../support/whatsapp/nodes.ts';
import type { PhoneHandle } from '../support/whatsapp/phone-handle.ts';
import { until } from '../support/whatsapp/phone-handle.ts';
import { seconds } from '../support/whatsapp/world.ts';

/** Some messages the network gives to the phone alone, and tells linked devices only that there is one. */
describe('a message that the network withholds from linked devices', () => {
  let account: BesiegedAccount;
  let friend: PhoneHandle;
  let group: string;
  before(async () => {
    account = await startBesieged();
    friend = account.newPhone();
    group = account.network.group(friend, 'Friends', [account.own]).jid;
  });
  after(() => account?.close());

  const UNREADABLE = ({ type, content, unreadable, chat, from }: InboundMessage) => [
    type,
    content,
    unreadable,
    chat,
    from,
  ];
  const toldOf = (id: string) => account.recorded.inbound.filter(({ networkId }) => networkId === id);

  it('is told as one to be viewed once, without what is in it', async () => {
    for (const [to, chat] of [
      [account.own, friend.jid],
      [group, group],
    ] as const) {
      const picture = { viewOnceMessageV2: { message: { imageMessage: { viewOnce: true } } } };
      const id = friend.send(to, picture, { type: 'media', unavailable: 'view_once' });
      await account.arrives(id);
      const [{ type, content, from, ...told } = {} as never, ...more] = toldOf(id);
      assert.deepEqual(
        { type, content, from, chat: told.chat, more },
        { type: 'unknown', content: { view_once: true }, from: friend.jid, chat, more: [] },
      );
    }
    await until(() => account.own.device.pending.length === 0, 'all are confirmed');
  });

  it('is told when the phone has given it to us, as the first of somebody who comes from an advertisement', async () => {
    const id = friend.text(account.own, 'How much is it?', { unavailable: '' });
    await account.arrives(id);
    const told = toldOf(id).map(({ type, content, chat, from }) => [type, content.text, chat, from]);
    assert.deepEqual(told, [['text', 'How much is it?', friend.jid, friend.jid]]);
  });

  it('is told as one that can be viewed once, also by the newer name for that', async () => {
    const id = friend.text(account.own, 'Look', { unavailable: 'view_once_unavailable_fanout' });
    await account.arrives(id);
    assert.deepEqual(
      toldOf(id).map(({ type, content, unreadable }) => [type, content, unreadable]),
      [['unknown', { view_once: true }, undefined]],
    );
  });

  it('is told without content at once where nobody gives it to linked devices', async () => {
    const id = friend.text(account.own, 'By a business', { unavailable: 'hosted_unavailable_fanout' });
    await account.arrives(id);
    assert.deepEqual(toldOf(id).map(UNREADABLE), [['unknown', {}, true, friend.jid, friend.jid]]);
  });

  describe('and that the phone does not give', () => {
    const DAY_MS = 24 * 60 * 60_000;
    const UNASKED = { type: 'text', unavailable: '' };
    beforeEach(() => account.own.goOffline());
    afterEach(() => account.own.comeOnline());

    it('is told without content after a day, once', async () => {
      const id = friend.text(group, 'Anybody there?', UNASKED);
      await account.arrives(friend.text(account.own, 'Behind it'));
      assert.deepEqual(toldOf(id), []);
      account.pass(DAY_MS);
      await account.arrives(friend.text(account.own, 'Much later'));
      await account.arrives(id);
      assert.deepEqual(toldOf(id).map(UNREADABLE), [['unknown', {}, true, group, friend.jid]]);
      await account.recorded.session.close();
      await account.open();
      await account.arrives(friend.text(account.own, 'In the next session'));
      assert.deepEqual(toldOf(id), []);
    });

    it('is told by a later session, if that does not get it either', async () => {
      const id = friend.text(account.own, 'Anybody there?', UNASKED);
      await account.arrives(friend.text(account.own, 'Behind it'));
      await account.recorded.session.close();
      account.pass(DAY_MS);
      await account.open();
      await account.arrives(friend.text(account.own, 'Much later'));
      await account.arrives(id);
      assert.deepEqual(toldOf(id).map(UNREADABLE), [['unknown', {}, true, friend.jid, friend.jid]]);
    });

    it('is told with its content when a later session asks again', async () => {
      const id = friend.text(account.own, 'Anybody there?', UNASKED);
      await account.arrives(friend.text(account.own, 'Behind it'));
      await account.recorded.session.close();
      // The question of the session before is lost.
      account.own.phone.waiting.length = 0;
      account.own.comeOnline();
      await account.open();
      await account.arrives(id);
      account.pass(DAY_MS);
      await account.arrives(friend.text(account.own, 'Much later'));
      assert.deepEqual(
        toldOf(id).map(({ content }) => content),
        [{ text: 'Anybody there?' }],
      );
    });

    it('is told without content, and its words as an edit when they come after all', async () => {
      const asked = account.own.phone.placeholdersAsked;
      const id = friend.text(account.own, 'Anybody there?', UNASKED);
      await until(() => account.own.phone.waiting.length > 0, 'the phone is asked');
      account.pass(DAY_MS);
      await account.arrives(friend.text(account.own, 'Much later'));
      await account.arrives(id);
      account.own.comeOnline();
      assert.equal(account.own.phone.placeholdersAsked, asked + 1);
      const edits = () => account.recorded.changes.filter(({ networkId }) => networkId === id);
      await until(() => edits().length > 0, 'the words');
      assert.deepEqual(
        edits().map((edit) => [edit.kind, edit.from, 'content' in edit && edit.content]),
        [['edited', friend.jid, { text: 'Anybody there?' }]],
      );
      assert.equal(toldOf(id).length, 1);
    });
  });

  describe('and one that cannot be opened', () => {
    const DAY_MS = 24 * 60 * 60_000;
    /** Bytes that are sealed with a key that nobody has. */
    function deliver(attrs: Record<string, string>, enc: Record<string, string> = {}): string {
      const id = randomBytes(10).toString('hex').toUpperCase();
      const named = { from: friend.jid, sender_lid: friend.lid, id, type: 'text', t: seconds(), ...attrs };
      const sealed = node('enc', { v: '2', type: 'msg', ...enc }, randomBytes(64));
      account.own.device.deliver(node('message', named, [sealed]));
      return id;
    }

    it('is told without content after a day, unless apps show nothing in its place', async () => {
      const id = deliver({});
      const ofGroup = deliver({ from: group, participant: friend.jid }, { type: 'skmsg' });
      const hidden = [
        deliver({}, { 'decrypt-fail': 'hide' }),
        deliver({ edit: '1' }),
        deliver({ type: 'reaction' }),
        deliver({ from: 'status@broadcast', participant: friend.jid }),
      ];
      await account.arrives(friend.text(account.own, 'Behind them'));
      await until(() => account.own.device.pending.length === 0, 'all are confirmed');
      account.pass(DAY_MS);
      await account.arrives(friend.text(account.own, 'Much later'));
      await account.arrives(id);
      await account.arrives(ofGroup);
      assert.deepEqual(toldOf(id).map(UNREADABLE), [['unknown', {}, true, friend.jid, friend.jid]]);
      assert.deepEqual(toldOf(ofGroup).map(UNREADABLE), [['unknown', {}, true, group, friend.jid]]);
      for (const each of hidden) assert.deepEqual(toldOf(each), []);
    });

    it('is told also when somebody else has used its id', async () => {
      const id = deliver({ from: group, participant: friend.jid }, { type: 'skmsg' });
      const other = account.newPhone();
      await account.arrives(other.text(account.own, 'Mine', { id }));
      account.pass(DAY_MS);
      await account.arrives(friend.text(account.own, 'Much later'));
      await until(() => toldOf(id).length > 1, 'the one of the group');
      assert.deepEqual(UNREADABLE(toldOf(id).at(-1)!), ['unknown', {}, true, group, friend.jid]);
      // And once it was told, the other one is not taken for its words.
      const another = account.newPhone();
      another.text(account.own, 'Mine, too', { id });
      await until(() => toldOf(id).length > 2, 'one more');
      assert.equal(toldOf(id).at(-1)!.from, another.jid);
    });

    it('is told with its content when its sender gives it', async () => {
      const id = randomBytes(10).toString('hex').toUpperCase();
      friend.phone.sent.set(id, { chat: account.own.jid, message: { conversation: 'Once more' } });
      deliver({ id });
      await account.arrives(id);
      account.pass(DAY_MS);
      await account.arrives(friend.text(account.own, 'Much later'));
      assert.deepEqual(
        toldOf(id).map(({ content }) => content),
        [{ text: 'Once more' }],
      );
    });
  });
});
