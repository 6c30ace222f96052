import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { type BesiegedAccount, startBesieged } from '../support/whatsapp/hostile.ts';
import type { PhoneHandle } from '../support/whatsapp/phone-handle.ts';
import { until } from '../support/whatsapp/phone-handle.ts';

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
});
