import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import type { InboundMessage } from '@posthorn/core/network/driver.ts';
import { Fields, writeFields } from '../support/whatsapp/fields.ts';
import { type BesiegedAccount, startBesieged } from '../support/whatsapp/hostile.ts';
import { raw, type WireMessage } from '../support/whatsapp/nodes.ts';
import type { PhoneHandle } from '../support/whatsapp/phone-handle.ts';

/** Messages of phones besides plain ones, as WhatsApp's own web app, whatsmeow and mautrix-whatsapp know it. */
describe('a phone sends', () => {
  let account: BesiegedAccount;
  let friend: PhoneHandle;
  let group: string;
  before(async () => {
    account = await startBesieged();
    friend = account.newPhone();
    group = account.network.group(friend, 'Friends', [account.own]).jid;
  });
  after(() => account?.close());

  /** The messages that are told under these ids once everything before a marker has arrived. */
  async function toldOf(...ids: string[]): Promise<InboundMessage[]> {
    await account.arrives(friend.text(account.own, 'marker'));
    return account.recorded.inbound.filter(({ networkId }) => ids.includes(networkId));
  }

  const encoded = (message: WireMessage) => account.network.world.coding.encodeMessage(message);
  /** A message with a field of this number, which the library does not know. */
  const newer = (number: number, value: Uint8Array, beside: WireMessage = {}) =>
    raw(Buffer.concat([writeFields([[number, value]]), encoded(beside)]));

  describe('a kind that is newer than the library:', () => {
    const options = ['now', 'later'].map((optionName) => ({ optionName }));

    it('a poll, in which people vote', async () => {
      const messageContextInfo = { messageSecret: randomBytes(32) };
      const poll = { pollCreationMessageV5: { name: 'When?', options, selectableOptionsCount: 1 } };
      const value = new Fields(encoded(poll)).bytes(111);
      const id = friend.send(group, newer(119, value, { messageContextInfo }), { type: 'poll' });
      const [{ type, content } = {} as never, ...more] = await toldOf(id);
      assert.deepEqual(
        { type, content, more },
        {
          type: 'poll',
          content: { question: 'When?', options: ['now', 'later'], max_selections: 1 },
          more: [],
        },
      );
      friend.phone.sent.set(id, { chat: group, message: { ...poll, messageContextInfo } });
      const vote = friend.sealed(group, { id, by: friend }, { options: ['later'] });
      const [voted] = await toldOf(vote);
      assert.deepEqual(voted?.content, { poll_message_id: id, selected_options: ['later'] });
    });

    it('words that are hidden at first', async () => {
      const hidden = writeFields([[1, encoded({ conversation: 'The butler' })]]);
      const id = friend.send(account.own, newer(118, hidden));
      assert.deepEqual(
        (await toldOf(id)).map(({ type, content }) => [type, content]),
        [['text', { text: 'The butler' }]],
      );
    });

    it('one that nobody knows, as a message without content', async () => {
      const unknown = writeFields([[1_000, writeFields([[1, 'x']])]]);
      const id = friend.send(account.own, raw(unknown));
      // Field 40 of a message is one that disappears.
      const within = friend.send(group, raw(writeFields([[40, writeFields([[1, unknown]])]])));
      assert.deepEqual(
        (await toldOf(id, within)).map(({ type, content }) => [type, content]),
        [
          ['unknown', {}],
          ['unknown', {}],
        ],
      );
    });

    it('one that nobody knows in place of a caption, which stays', async () => {
      const picture = { mimetype: 'image/jpeg', directPath: '/v/x', url: '', caption: 'Us' };
      const id = friend.send(account.own, { imageMessage: picture }, { type: 'media' });
      const key = { remoteJid: account.own.jid, fromMe: true, id };
      // Field 12 of a message is a change, whose field 14 is the new content.
      const change = new Fields(encoded({ protocolMessage: { type: 'MESSAGE_EDIT', key } })).bytes(12);
      const unknown = writeFields([[14, writeFields([[1_000, writeFields([[1, 'x']])]])]]);
      friend.send(account.own, raw(writeFields([[12, Buffer.concat([change, unknown])]])));
      assert.equal((await toldOf(id)).length, 1);
      const changes = account.recorded.changes.filter(({ networkId }) => networkId === id);
      assert.deepEqual(changes, []);
    });

    it('keys of a group, which are no message', async () => {
      const id = friend.send(group, newer(123, writeFields([[1, 'x']])));
      assert.deepEqual(await toldOf(id), []);
    });

    it('something beside content that is known', async () => {
      const id = friend.send(account.own, newer(130, writeFields([[1, 'x']]), { conversation: 'Look' }));
      const other = friend.send(account.own, newer(1_000, writeFields([[1, 'x']]), { conversation: 'Look' }));
      assert.deepEqual(
        (await toldOf(id, other)).map(({ content }) => content),
        [{ text: 'Look' }, { text: 'Look' }],
      );
    });
  });

  it('a picture or video in two qualities, or moving, which is one message', async () => {
    const media = { mimetype: 'image/jpeg', directPath: '/v/x', url: '' };
    for (const [kind, associationType] of [
      ['imageMessage', 'HD_IMAGE_DUAL_UPLOAD'],
      ['videoMessage', 'HD_VIDEO_DUAL_UPLOAD'],
      ['videoMessage', 'HEVC_VIDEO_DUAL_UPLOAD'],
      ['videoMessage', 'MOTION_PHOTO'],
    ] as const) {
      const shown = friend.send(account.own, { [kind]: { ...media, caption: 'Us' } }, { type: 'media' });
      const parentMessageKey = { remoteJid: friend.jid, fromMe: true, id: shown };
      const again = friend.send(
        account.own,
        {
          associatedChildMessage: { message: { [kind]: { ...media, caption: 'Us' } } },
          messageContextInfo: { messageAssociation: { associationType, parentMessageKey } },
        },
        { type: 'media' },
      );
      const told = await toldOf(shown, again);
      assert.deepEqual(
        told.map(({ networkId, content }) => [networkId, content.caption]),
        [[shown, 'Us']],
        associationType,
      );
    }
  });

  it('content in a wrapper: a status of a group, a forwarded answer of a bot, and pictures of events and polls', async () => {
    const picture = {
      imageMessage: { mimetype: 'image/jpeg', directPath: '/v/x', url: '', caption: 'Here' },
    };
    const told: unknown[] = [];
    for (const [wrapper, message] of [
      ['groupStatusMessage', { conversation: 'News' }],
      ['groupStatusMessageV2', { extendedTextMessage: { text: 'News' } }],
      ['botForwardedMessage', { conversation: 'News' }],
      ['questionMessage', { conversation: 'News' }],
      ['questionReplyMessage', { conversation: 'News' }],
      ['eventCoverImage', picture],
      ['pollCreationOptionImageMessage', picture],
      // Somebody keeps others from sharing what is said, which is nothing that is said.
      ['limitSharingMessage', { protocolMessage: { type: 'LIMIT_SHARING' } }],
    ] as const) {
      const id = friend.send(group, { [wrapper]: { message } });
      told.push(...(await toldOf(id)).map(({ content }) => [wrapper, content.text ?? content.caption]));
    }
    assert.deepEqual(told, [
      ['groupStatusMessage', 'News'],
      ['groupStatusMessageV2', 'News'],
      ['botForwardedMessage', 'News'],
      ['questionMessage', 'News'],
      ['questionReplyMessage', 'News'],
      ['eventCoverImage', 'Here'],
      ['pollCreationOptionImageMessage', 'Here'],
    ]);
  });
});
