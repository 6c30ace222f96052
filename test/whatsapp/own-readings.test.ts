import assert from 'node:assert/strict';
import { after, before, describe, it, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { newKept, newNumber, openPaired, sendText } from '../support/whatsapp/driver-harness.ts';
import { type BesiegedAccount, startBesieged } from '../support/whatsapp/hostile.ts';
import { startNetworkAndDriver } from '../support/whatsapp/network-driver.ts';
import type { PhoneHandle } from '../support/whatsapp/phone-handle.ts';
import { until } from '../support/whatsapp/phone-handle.ts';
import { readOnPhone } from '../support/whatsapp/phone-inbox.ts';

describe('a chat that is read on the phone', () => {
  let account: BesiegedAccount;
  let friend: PhoneHandle;
  let group: string;
  before(async () => {
    account = await startBesieged();
    friend = account.newPhone();
    group = account.network.group(friend, 'Friends', [account.own], 'lid').jid;
  });
  after(() => account?.close());

  const readings = () =>
    account.recorded.facts.flatMap((fact) => (fact.kind === 'chat' && fact.read ? [fact.chat] : []));

  async function arrived(...texts: string[]): Promise<string> {
    for (const id of texts) await account.arrives(id);
    return texts.at(-1)!;
  }

  for (const addressing of ['pn', 'lid'] as const)
    for (const type of ['read', 'read-self'] as const)
      it(`is told as read once (${type}, by ${addressing})`, async () => {
        const before = readings().length;
        const ids = [friend.text(account.own, 'One'), friend.text(account.own, 'Two')];
        await arrived(...ids);
        readOnPhone(account.own.phone, friend.phone, ids, { type, addressing });
        await until(() => readings().length > before, 'the reading');
        await arrived(friend.text(account.own, 'Behind it'));
        assert.deepEqual(readings().slice(before), [friend.jid]);
      });

  it('is told as read when it is a group', async () => {
    const before = readings().length;
    const id = await arrived(friend.text(group, 'All of you'));
    readOnPhone(account.own.phone, group, [id], { addressing: 'lid' });
    await until(() => readings().length > before, 'the reading');
    assert.deepEqual(readings().slice(before), [group]);
  });

  it('is told as read when only messages of the account follow', async () => {
    const before = readings().length;
    const id = await arrived(friend.text(account.own, 'A question'));
    await sendText(account.recorded, friend.jid, 'An answer of a program');
    readOnPhone(account.own.phone, friend.phone, [id]);
    await until(() => readings().length > before, 'the reading');
    assert.deepEqual(readings().slice(before), [friend.jid]);
  });

  it('stays unread when a later message came before the phone told it', async () => {
    const before = readings().length;
    const id = await arrived(friend.text(account.own, 'One'));
    await arrived(friend.text(account.own, 'Two'));
    readOnPhone(account.own.phone, friend.phone, [id]);
    await arrived(friend.text(account.own, 'Behind it'));
    await until(() => account.own.device.pending.length === 0, 'all are confirmed');
    assert.deepEqual(readings().slice(before), []);
  });

  it('is none of somebody else who reads', async () => {
    const before = [readings().length, account.recorded.receipts.length];
    const id = account.own.text(friend, 'Mine');
    await account.arrives(id);
    account.own.hears(friend, id, 'read');
    await until(() => account.recorded.receipts.length > before[1]!, 'the receipt');
    assert.equal(readings().length, before[0]);
  });
});

test('a picture that is read on the phone while it is downloaded here is recorded before the reading', async (t) => {
  const { network, driver } = await startNetworkAndDriver();
  const [own, friend] = [network.phone(newNumber()), network.phone(newNumber())];
  const [begun, downloaded] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const told: string[] = [];
  const recorded = await openPaired(driver, own, newKept(), {
    sink: {
      async inbound(messages) {
        begun.resolve();
        await downloaded.promise;
        told.push(...messages.map(({ type }) => type));
      },
      async facts(facts) {
        told.push(...facts.flatMap((fact) => (fact.kind === 'chat' && fact.read ? ['read'] : [])));
      },
    },
  });
  t.after(async () => {
    downloaded.resolve();
    await recorded.session.close();
    await network.close();
  });
  const id = friend.file(own, 'image', Buffer.alloc(1_000, 'picture'), { mimetype: 'image/jpeg' });
  await begun.promise;
  readOnPhone(own.phone, friend.phone, [id]);
  await delay(500);
  downloaded.resolve();
  await until(() => told.length > 1, 'both');
  assert.deepEqual(told, ['image', 'read']);
});
