import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import { connected, newKept, openRecorded } from '../support/whatsapp/driver-harness.ts';
import { type BesiegedAccount, startBesieged } from '../support/whatsapp/hostile.ts';
import type { WireMessage } from '../support/whatsapp/nodes.ts';
import type { PhoneHandle } from '../support/whatsapp/phone-handle.ts';
import { until } from '../support/whatsapp/phone-handle.ts';

/** Apps since 2026 seal what they say of a message with the message's own secret. */
describe('what is sealed with the secret of a message:', () => {
  let account: BesiegedAccount;
  let friend: PhoneHandle;
  let other: PhoneHandle;
  let group: string;
  before(async () => {
    account = await startBesieged();
    [friend, other] = [account.newPhone(), account.newPhone()];
    group = account.network.group(friend, 'Friends', [account.own, other], 'lid').jid;
  });
  after(() => account?.close());

  const secretly = (message: WireMessage): WireMessage => ({
    ...message,
    messageContextInfo: { messageSecret: randomBytes(32) },
  });
  const editsOf = (id: string, { recorded } = account) =>
    recorded.changes.flatMap((change) =>
      change.networkId === id && change.kind === 'edited' ? [change] : [],
    );
  const toldUnder = (id: string) => account.recorded.inbound.filter(({ networkId }) => networkId === id);

  for (const addressing of ['pn', 'lid'] as const) {
    it(`new words are told in a chat that names people by ${addressing}`, async () => {
      const id = friend.send(account.own, secretly({ conversation: 'Teh words' }), { addressing });
      await account.arrives(id);
      const about = { id, by: friend };
      const words = { extendedTextMessage: { text: 'The words' } };
      const edit = friend.sealed(account.own, about, { words }, { addressing });
      await until(() => editsOf(id).length > 0, 'the message is edited');
      const [{ chat, from, changeId, content } = {} as never] = editsOf(id);
      assert.deepEqual(
        { chat, from, changeId, content },
        { chat: friend.jid, from: friend.jid, changeId: edit, content: { text: 'The words' } },
      );
      assert.deepEqual(toldUnder(edit), []);
    });
  }

  it('new words are told twice, in a group, and of a caption', async () => {
    const id = friend.send(
      group,
      secretly({ imageMessage: { caption: 'One', mimetype: 'image/jpeg', directPath: '/v/x', url: '' } }),
      { type: 'media' },
    );
    await account.arrives(id);
    for (const caption of ['Two', 'Three'])
      friend.sealed(group, { id, by: friend }, { words: { imageMessage: { caption } } });
    await until(() => editsOf(id).length > 1, 'the message is edited twice');
    assert.deepEqual(
      editsOf(id).map(({ from, content }) => [from, content.caption]),
      [
        [friend.jid, 'Two'],
        [friend.jid, 'Three'],
      ],
    );
  });

  it('new words of the account’s own phone are told as its own', async () => {
    const id = account.own.send(friend, secretly({ conversation: 'Teh words' }));
    await account.arrives(id);
    account.own.sealed(friend, { id, by: account.own }, { words: { conversation: 'The words' } });
    await until(() => editsOf(id).length > 0, 'the message is edited');
    const [{ chat, fromMe, content } = {} as never] = editsOf(id);
    assert.deepEqual(
      { chat, fromMe, content },
      { chat: friend.jid, fromMe: true, content: { text: 'The words' } },
    );
  });

  it('nobody gives new words to what others wrote', async () => {
    const id = friend.send(group, secretly({ conversation: 'My words' }));
    await account.arrives(id);
    const edit = other.sealed(group, { id, by: friend }, { words: { conversation: 'Foul words' } });
    await account.arrives(friend.text(group, 'Behind it'));
    assert.deepEqual([editsOf(id), toldUnder(edit)], [[], []]);
  });

  it('a reaction is told', async () => {
    const id = friend.send(group, secretly({ conversation: 'News' }));
    await account.arrives(id);
    const reaction = other.sealed(group, { id, by: friend }, { reaction: '👍' });
    await account.arrives(reaction);
    const [{ type, from, content } = {} as never] = toldUnder(reaction);
    assert.deepEqual(
      { type, from, content },
      { type: 'reaction', from: other.jid, content: { message_id: id, emoji: '👍' } },
    );
  });

  it('a comment is told as an answer, also when it cannot be opened', async () => {
    const id = friend.send(group, secretly({ conversation: 'News' }));
    await account.arrives(id);
    const comment = other.sealed(group, { id, by: friend }, { comment: { conversation: 'Good news' } });
    const sealed = { encPayload: Buffer.alloc(32), encIv: Buffer.alloc(12) };
    const closed = other.send(group, { encCommentMessage: { targetMessageKey: { id }, ...sealed } });
    await account.arrives(closed);
    const told = [comment, closed].flatMap(toldUnder);
    assert.deepEqual(
      told.map(({ type, from, quotedId, content }) => [type, from, quotedId, content]),
      [
        ['text', other.jid, id, { text: 'Good news' }],
        ['unknown', other.jid, undefined, {}],
      ],
    );
    assert.deepEqual(
      told.map(({ unreadable }) => unreadable),
      [undefined, true],
    );
  });

  it('votes in a poll that was made on the account’s own phone are told', async () => {
    const options = ['now', 'later'].map((optionName) => ({ optionName }));
    const poll = { name: 'When?', options, selectableOptionsCount: 1 };
    const id = account.own.send(friend, secretly({ pollCreationMessageV3: poll }), { type: 'poll' });
    await account.arrives(id);
    const vote = friend.sealed(account.own, { id, by: account.own }, { options: ['later'] });
    await account.arrives(vote);
    assert.deepEqual(toldUnder(vote)[0]?.content, { poll_message_id: id, selected_options: ['later'] });
    // A vote is not the last message of its chat: changes of the chat name the poll.
    const tails = await account.kept.keys.read('tail', [friend.jid]);
    assert.equal((tails.get(friend.jid) as { id: string }).id, id);
  });

  it('new words of a message from before the pairing are told', async () => {
    const [own, kept] = [account.newPhone(), newKept()];
    const said = { text: 'Teh words', fromMe: false, at: new Date(), secret: randomBytes(32) };
    const [id = ''] = own.remember(friend, [said]);
    const recorded = await openRecorded(account.driver, kept);
    own.scan(await until(() => recorded.qrs.at(-1), 'a QR code'));
    await connected(recorded);
    await until(() => recorded.history.length > 0, 'the history');
    friend.sealed(own, { id, by: friend }, { words: { conversation: 'The words' } });
    await until(() => recorded.changes.some(({ networkId }) => networkId === id), 'the message is edited');
    await recorded.session.close();
  });
});
