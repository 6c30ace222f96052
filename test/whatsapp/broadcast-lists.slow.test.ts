import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { after, afterEach, before, beforeEach, describe, it } from 'node:test';
import type { InboundMessage } from '@posthorn/core/network/driver.ts';
import { outbound } from '../support/whatsapp/driver-harness.ts';
import { type BesiegedAccount, startBesieged } from '../support/whatsapp/hostile.ts';
import type { PhoneHandle } from '../support/whatsapp/phone-handle.ts';
import { until } from '../support/whatsapp/phone-handle.ts';

const LIST = '1700000000@broadcast';

describe('what somebody sends to a broadcast list', () => {
  let account: BesiegedAccount;
  let friend: PhoneHandle;
  before(async () => {
    account = await startBesieged();
    friend = account.newPhone();
  });
  after(() => account?.close());

  for (const addressing of ['pn', 'lid'] as const) {
    it(`arrives in the chat with them, named by ${addressing}, and is confirmed and read by the list`, async () => {
      const id = friend.text(account.own, 'News for all', { list: LIST, addressing });
      await account.arrives(id);
      const [told] = account.recorded.inbound.filter(({ networkId }) => networkId === id);
      assert.deepEqual(
        [told?.chat, told?.from, told?.content.text],
        [friend.jid, friend.jid, 'News for all'],
      );
      await account.recorded.session.markRead(friend.jid, [id]);
      const read = await friend.receipt(id, 'read');
      assert.deepEqual([read.chat, read.from], [LIST, account.own.number]);
      assert.ok(friend.phone.receipts.some(({ ids, chat }) => ids.includes(id) && chat === LIST));
    });
  }

  it('is quoted by an answer to them', async () => {
    const id = friend.text(account.own, 'Who comes?', { list: LIST });
    await account.arrives(id);
    const answer = outbound(friend.jid, 'text', { text: 'I do' }, { quotedId: id });
    await account.recorded.session.send(answer);
    const { wire } = await friend.message(answer.networkId);
    const { contextInfo } = wire.extendedTextMessage as { contextInfo: Record<string, unknown> };
    assert.deepEqual(contextInfo.quotedMessage, { conversation: 'Who comes?' });
  });

  it('comes again with the next session when it was not recorded', async () => {
    await account.recorded.session.close();
    const id = friend.text(account.own, 'While you were away', { list: LIST });
    await account.open();
    await account.arrives(id);
    await until(() => account.own.device.pending.length === 0, 'it is confirmed');
  });
});

describe('what the account sends to a broadcast list of its own, on the phone', () => {
  let account: BesiegedAccount;
  let friends: PhoneHandle[];
  beforeEach(async () => {
    account = await startBesieged();
    friends = [account.newPhone(), account.newPhone()];
  });
  afterEach(() => account?.close());

  const told = ({ chat, from, fromMe, content }: InboundMessage) => [chat, from, fromMe, content.text];
  const copies = (text: string) => friends.map(({ jid }) => [jid, account.own.jid, true, text]);
  const arrived = (id: string) =>
    account.recorded.inbound.filter(({ networkId }) => networkId.startsWith(`${id}@`));

  for (const addressing of ['pn', 'lid'] as const)
    it(`is told once in the chat with each recipient, by ${addressing}`, async () => {
      const id = account.own.broadcast(LIST, friends, { conversation: 'News for all' }, addressing);
      await until(() => arrived(id).length === 2, 'the copies');
      assert.deepEqual(arrived(id).map(told), copies('News for all'));
      await until(() => account.own.device.pending.length === 0, 'it is confirmed');
    });

  it('has receipts that are of the copy in the chat with whom they are from', async () => {
    const id = account.own.broadcast(LIST, friends, { conversation: 'News for all' });
    await until(() => arrived(id).length === 2, 'the copies');
    account.own.hears(friends[1]!, id, 'read');
    const receipts = () => account.recorded.receipts.filter(({ kind }) => kind === 'read');
    await until(() => receipts().length > 0, 'the receipt');
    assert.deepEqual(
      receipts().map(({ networkId, chat, by }) => [networkId, chat, by]),
      [[arrived(id)[1]!.networkId, friends[1]!.jid, friends[1]!.jid]],
    );
  });

  it('is deleted in each chat', async () => {
    const id = account.own.broadcast(LIST, friends, { conversation: 'News for all' });
    account.own.broadcast(LIST, friends, { protocolMessage: { type: 'REVOKE', key: { id } } });
    const deleted = () => account.recorded.changes.filter(({ kind }) => kind === 'deleted');
    await until(() => deleted().length === 2, 'the deletions');
    assert.deepEqual(
      deleted().map(({ networkId, chat }) => [networkId, chat]),
      friends.map(({ jid }) => [id, jid]),
    );
  });

  it('has one file for all', async () => {
    const file = { directPath: '/v/file.enc', mediaKey: randomBytes(32), fileSha256: randomBytes(32) };
    const imageMessage = { ...file, mimetype: 'image/jpeg', caption: 'Look' };
    const id = account.own.broadcast(LIST, friends, { imageMessage });
    await until(() => arrived(id).length === 2, 'the copies');
    const keys = arrived(id).map(({ media }) => media?.key);
    assert.ok(keys[0]);
    assert.equal(keys[0], keys[1]);
  });

  it('is told by the next session when this one did not record it', async () => {
    await account.recorded.session.close();
    await account.open({ sink: { inbound: () => Promise.reject(new Error('not now')) } });
    const id = account.own.broadcast(LIST, friends, { conversation: 'News for all' });
    await until(() => account.own.device.pending.length === 0, 'it is confirmed');
    await account.recorded.session.close();
    await account.open();
    await until(() => arrived(id).length === 2, 'the copies');
    assert.deepEqual(arrived(id).map(told), copies('News for all'));
  });
});
