import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
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
