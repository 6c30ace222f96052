import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import type { OutboundMessage } from '@posthorn/core/network/driver.ts';
import { connected, newKept, openRecorded, outbound } from '../support/whatsapp/driver-harness.ts';
import { type BesiegedAccount, startBesieged } from '../support/whatsapp/hostile.ts';
import { hkdf, openGcm, sha256 } from '../support/whatsapp/keys.ts';
import type { WireMessage } from '../support/whatsapp/nodes.ts';
import type { PhoneHandle } from '../support/whatsapp/phone-handle.ts';
import { until } from '../support/whatsapp/phone-handle.ts';

type Named = Record<string, never> & { participant: string };

/** Where people are known by their anonymous ids, apps do not look for them by numbers. */
for (const addressing of ['lid', 'pn'] as const) {
  describe(`in a group that names people by ${addressing}`, () => {
    let account: BesiegedAccount;
    let friend: PhoneHandle;
    let group: string;
    const nameOf = (handle: PhoneHandle) => (addressing === 'lid' ? handle.lid : handle.jid);
    const userOf = (jid: string) => jid.split('@')[0]!;
    before(async () => {
      account = await startBesieged();
      friend = account.newPhone();
      group = account.network.group(account.own, 'Friends', [friend], addressing).jid;
      await account.arrives(friend.text(account.own, 'Hello'));
    });
    after(() => account?.close());

    async function sent(type: string, content: Record<string, unknown>, more: Partial<OutboundMessage>) {
      const message = outbound(group, type, content, more);
      await account.recorded.session.send(message);
      return (await friend.message(message.networkId)).wire;
    }
    const targetOf = (id: string) => ({ id, from_me: false, sender: friend.jid });

    it('quotes, reactions and deletions name the author as the group does', async () => {
      const id = friend.text(group, 'Good morning');
      await account.arrives(id);
      const quote = await sent('text', { text: 'And to you' }, { quotedId: id });
      const { contextInfo } = quote.extendedTextMessage as { contextInfo: Named };
      const { reactionMessage } = await sent('reaction', { emoji: '👍' }, { target: targetOf(id) });
      const { protocolMessage } = await sent('delete', {}, { target: targetOf(id) });
      assert.deepEqual(
        [
          contextInfo.participant,
          (reactionMessage as { key: Named }).key.participant,
          (protocolMessage as { key: Named }).key.participant,
        ],
        [nameOf(friend), nameOf(friend), nameOf(friend)],
      );
    });

    it('a quote of an own message names the account as the group does', async () => {
      const own = outbound(group, 'text', { text: 'First' });
      await account.recorded.session.send(own);
      const quote = await sent('text', { text: 'Second' }, { quotedId: own.networkId });
      const { contextInfo } = quote.extendedTextMessage as { contextInfo: Named };
      assert.equal(contextInfo.participant, nameOf(account.own));
    });

    it('a vote can be opened by the names of the group', async () => {
      const secret = randomBytes(32);
      const options = ['now', 'later'].map((optionName) => ({ optionName }));
      const poll = {
        pollCreationMessageV3: { name: 'When?', options, selectableOptionsCount: 1 },
        messageContextInfo: { messageSecret: secret },
      };
      const id = friend.send(group, poll, { type: 'poll' });
      await account.arrives(id);
      const vote = { chat: group, target: targetOf(id), options: ['later'] } as const;
      const { envelope_id } = await account.recorded.session.act('poll_vote', vote as never);
      const { pollUpdateMessage } = (await friend.message(envelope_id)).wire as {
        pollUpdateMessage: { pollCreationMessageKey: Named; vote: { encPayload: Buffer; encIv: Buffer } };
      };
      assert.equal(pollUpdateMessage.pollCreationMessageKey.participant, nameOf(friend));
      const key = hkdf(secret, 32, `${id}${nameOf(friend)}${nameOf(account.own)}Poll Vote`);
      const { encIv, encPayload } = pollUpdateMessage.vote;
      const opened = openGcm(key, encIv, encPayload, Buffer.from(`${id}\0${nameOf(account.own)}`));
      assert.ok(opened.includes(sha256(Buffer.from('later'))));
    });

    it('mentions name people as the group does, in the list and in the words', async () => {
      const content = { text: `Hello @${friend.number}, not @123456`, mentions: [friend.jid] };
      const { extendedTextMessage } = await sent('text', content, {});
      const { text, contextInfo } = extendedTextMessage as { text: string; contextInfo: WireMessage };
      assert.deepEqual(contextInfo.mentionedJid, [nameOf(friend)]);
      assert.equal(text, `Hello @${userOf(nameOf(friend))}, not @123456`);
    });

    it('mentions that arrive are told by numbers', async () => {
      const id = friend.send(group, {
        extendedTextMessage: {
          text: `Hello @${userOf(nameOf(account.own))}`,
          contextInfo: { mentionedJid: [nameOf(account.own)] },
        },
      });
      await account.arrives(id);
      assert.deepEqual(account.recorded.inbound.find(({ networkId }) => networkId === id)?.content, {
        text: `Hello @${account.own.number}`,
        mentions: [account.own.jid],
      });
    });

    it('mentions in new words for a message are told by numbers', async () => {
      const id = friend.text(group, 'Hello');
      await account.arrives(id);
      const words = {
        text: `Hello @${userOf(nameOf(account.own))}`,
        contextInfo: { mentionedJid: [nameOf(account.own)] },
      };
      const editedMessage = { extendedTextMessage: words };
      friend.send(group, { protocolMessage: { type: 'MESSAGE_EDIT', key: { id }, editedMessage } });
      const edited = () =>
        account.recorded.changes.find(({ networkId, kind }) => networkId === id && kind === 'edited');
      const { content } = (await until(edited, 'the edit')) as { content: object };
      assert.deepEqual(content, { text: `Hello @${account.own.number}`, mentions: [account.own.jid] });
    });

    it('who wrote is told that it was read by the name of the group', async () => {
      const id = friend.text(group, 'Read this');
      await account.arrives(id);
      await account.recorded.session.markRead(group as never, [id]);
      assert.equal((await friend.receipt(id, 'read')).author, nameOf(friend));
    });

    it('messages from before the pairing have their authors', async () => {
      const [own, kept] = [account.newPhone(), newKept()];
      const key = { remoteJid: group, fromMe: false, id: randomBytes(10).toString('hex') };
      const message = {
        ...{ key, participant: friend.jid, message: { conversation: 'Before' } },
        messageTimestamp: Math.floor(Date.now() / 1_000),
      };
      own.phone.history = { conversations: [{ id: group, messages: [{ message, msgOrderId: 1 }] }] };
      const recorded = await openRecorded(account.driver, kept);
      own.scan(await until(() => recorded.qrs.at(-1), 'a QR code'));
      await connected(recorded);
      await until(() => recorded.history.length > 0, 'the history');
      const told = recorded.history.flatMap(({ messages }) => messages);
      assert.deepEqual(
        told.map(({ chat, from }) => [chat, from]),
        [[group, friend.jid]],
      );
      await recorded.session.close();
    });
  });
}
