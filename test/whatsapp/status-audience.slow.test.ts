import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { outbound } from '../support/whatsapp/driver-harness.ts';
import { type BesiegedAccount, startBesieged } from '../support/whatsapp/hostile.ts';
import type { PhoneHandle } from '../support/whatsapp/phone-handle.ts';
import { until } from '../support/whatsapp/phone-handle.ts';

/** Statuses are encrypted for each of their audience: nobody but us keeps them from others. */
describe('a status', () => {
  let account: BesiegedAccount;
  let friend: PhoneHandle;
  let other: PhoneHandle;
  beforeEach(async () => {
    account = await startBesieged();
    [friend, other] = [account.newPhone(), account.newPhone()];
    for (const [nth, { jid }] of [friend, other].entries())
      account.own.publish('critical_unblock_low', ['contact', jid], {
        contactAction: { fullName: `F ${nth}` },
      });
    const saved = () => account.recorded.facts.filter(({ kind }) => kind === 'contact').length === 2;
    await until(saved, 'the contacts');
  });
  afterEach(async () => {
    await account?.close();
    assert.deepEqual(account.network.unknownQuestions, []);
  });

  async function seenBy(): Promise<PhoneHandle[]> {
    const status = outbound('status@broadcast', 'status_text', { text: 'News' });
    await account.recorded.session.send(status);
    const seen = ({ messages }: PhoneHandle) => messages.some(({ id }) => id === status.networkId);
    await until(() => [friend, other, account.own].some(seen), 'the status');
    // The network delivers to all readers at once, so the others have it by now.
    return [friend, other].filter(seen);
  }

  it('reaches all contacts where nothing was set', async () => {
    assert.deepEqual(await seenBy(), [friend, other]);
  });

  for (const [value, carried] of [
    [{}, 'without a value'],
    [{ contactAction: { fullName: 'F 0' } }, 'with the last value'],
  ] as const)
    it(`does not reach who is no contact any more, as the phone removes it ${carried}`, async () => {
      account.own.publish('critical_unblock_low', ['contact', friend.jid], value, 'REMOVE');
      const told = () => account.recorded.facts.filter(({ kind }) => kind === 'contact').length === 3;
      await until(told, 'the removal');
      const last = account.recorded.facts.findLast(({ kind }) => kind === 'contact');
      assert.deepEqual(
        { ...last, revision: 0, at: 0 },
        { kind: 'contact', jid: friend.jid, name: '', revision: 0, at: 0 },
      );
      assert.deepEqual(await seenBy(), [other]);
    });

  it('is asked for once, and again when the phone tells that settings have changed', async () => {
    const { phone } = account.own;
    assert.deepEqual(await seenBy(), [friend, other]);
    phone.statusPrivacy = { type: 'blacklist', list: [friend.jid] };
    assert.deepEqual([await seenBy(), phone.statusPrivacyAsked], [[friend, other], 1]);
    account.own.changeSettings();
    await account.arrives(friend.text(account.own, 'Behind it'));
    assert.deepEqual([await seenBy(), phone.statusPrivacyAsked], [[other], 2]);
  });

  it('is asked for again by the API, and after the network did not answer', async () => {
    const { phone } = account.own;
    phone.statusPrivacy = 'busy';
    const status = outbound('status@broadcast', 'status_text', { text: 'News' });
    await assert.rejects(account.recorded.session.send(status), { reason: 'network_busy' });
    phone.statusPrivacy = { type: 'blacklist', list: [friend.jid] };
    assert.deepEqual(await seenBy(), [other]);
    phone.statusPrivacy = { type: 'whitelist', list: [friend.jid] };
    const privacy = await account.recorded.session.act('status_privacy', {});
    assert.equal(privacy.at(-1)?.type, 'whitelist');
    assert.deepEqual(await seenBy(), [friend]);
  });

  const setByPhone = async (mode: string, userJid: string[]) => {
    let isKept = false;
    account.kept.keys.afterWrite = (rows) => {
      isKept ||= rows.some(({ kind }) => kind === 'audience');
    };
    account.own.publish('regular_high', ['setting_statusPrivacy'], { statusPrivacy: { mode, userJid } });
    await until(() => isKept, 'the setting');
  };

  for (const told of ['network', 'phone'] as const)
    it(`is refused while it is for close friends, as the ${told} tells`, async () => {
      const before = outbound('status@broadcast', 'status_text', { text: 'For all' });
      await account.recorded.session.send(before);
      const close = [friend.jid];
      if (told === 'phone') await setByPhone('CLOSE_FRIENDS', close);
      else {
        account.own.phone.statusPrivacy = { type: 'close_friends', list: close };
        account.own.changeSettings();
        await account.arrives(friend.text(account.own, 'Behind it'));
      }
      const status = outbound('status@broadcast', 'status_text', { text: 'For few' });
      await assert.rejects(account.recorded.session.send(status), { reason: 'status_audience_unknown' });
      const privacy = await account.recorded.session.act('status_privacy', {});
      assert.deepEqual(
        privacy.filter((setting) => setting.is_default),
        [],
      );
      // The deletion of the one before reaches everybody who got that.
      const target = { id: before.networkId, from_me: true };
      await account.recorded.session.send(outbound('status@broadcast', 'delete', {}, { target }));
      await until(() => other.messages.some(({ wire }) => wire.protocolMessage), 'the deletion');
      assert.ok(!other.messages.some(({ id }) => id === status.networkId));
    });

  for (const named of ['jid', 'lid'] as const) {
    it(`does not reach who is left out by ${named}, as the network tells`, async () => {
      account.own.phone.statusPrivacy = { type: 'blacklist', list: [friend[named]] };
      assert.deepEqual(await seenBy(), [other]);
    });

    it(`reaches nobody but whom it is shared with by ${named}, as the network tells`, async () => {
      account.own.phone.statusPrivacy = { type: 'whitelist', list: [friend[named]] };
      assert.deepEqual(await seenBy(), [friend]);
    });

    it(`does not reach who is left out by ${named}, as the phone tells`, async () => {
      await setByPhone('DENY_LIST', [friend[named]]);
      assert.deepEqual(await seenBy(), [other]);
    });
  }
});
