import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { sendText } from '../support/whatsapp/driver-harness.ts';
import { type BesiegedAccount, startBesieged } from '../support/whatsapp/hostile.ts';
import type { WireMessage } from '../support/whatsapp/nodes.ts';
import type { PhoneHandle } from '../support/whatsapp/phone-handle.ts';
import { until } from '../support/whatsapp/phone-handle.ts';

const edit = (id: string, words: string): WireMessage => ({
  protocolMessage: { type: 'MESSAGE_EDIT', key: { id }, editedMessage: { conversation: words } },
});
const revoke = (id: string): WireMessage => ({ protocolMessage: { type: 'REVOKE', key: { id } } });

/** The network sees neither texts nor the keys of messages: only the receiver of a change can judge it. */
describe('a message of a group', () => {
  let account: BesiegedAccount;
  let admin: PhoneHandle;
  let victim: PhoneHandle;
  let attacker: PhoneHandle;
  let group: string;
  before(async () => {
    account = await startBesieged();
    [admin, victim, attacker] = [account.newPhone(), account.newPhone(), account.newPhone()];
    group = account.network.group(admin, 'Friends', [account.own, victim, attacker]).jid;
    await account.arrives(attacker.text(group, 'Hello all'));
  });
  after(() => account?.close());

  const changed = (id: string, kind: string) =>
    until(
      () => account.recorded.changes.some((change) => change.networkId === id && change.kind === kind),
      `the message is ${kind}`,
    );

  /** The texts and changes that were reported for a message, once the next message has arrived. */
  async function toldOf(id: string) {
    await account.arrives(admin.text(group, 'Behind it'));
    const { inbound, changes } = account.recorded;
    return {
      words: inbound.flatMap(({ networkId, from, content }) =>
        networkId === id ? [[from, content.text]] : [],
      ),
      changes: changes.flatMap((change) =>
        change.networkId === id
          ? [[change.kind, change.from, 'content' in change ? change.content.text : '']]
          : [],
      ),
    };
  }

  it('is edited and deleted by its author', async () => {
    const id = victim.text(group, 'My words');
    await account.arrives(id);
    victim.send(group, edit(id, 'Better words'));
    await changed(id, 'edited');
    victim.send(group, revoke(id));
    await changed(id, 'deleted');
    assert.deepEqual(await toldOf(id), {
      words: [[victim.jid, 'My words']],
      changes: [
        ['edited', victim.jid, 'Better words'],
        ['deleted', victim.jid, ''],
      ],
    });
  });

  it('is edited by nobody else, and deleted by no other member', async () => {
    const id = victim.text(group, 'My words');
    await account.arrives(id);
    attacker.send(group, edit(id, 'Foul words'));
    attacker.send(group, revoke(id));
    admin.send(group, edit(id, 'An admin’s words'));
    assert.deepEqual(await toldOf(id), { words: [[victim.jid, 'My words']], changes: [] });
  });

  it('is deleted by an admin', async () => {
    const id = victim.text(group, 'My words');
    await account.arrives(id);
    admin.send(group, revoke(id));
    await changed(id, 'deleted');
    assert.deepEqual((await toldOf(id)).changes, [['deleted', admin.jid, '']]);
  });

  it('is not changed from another chat, and neither is one of the account itself', async () => {
    const id = victim.text(group, 'My words');
    await account.arrives(id);
    const own = await sendText(account.recorded, group, 'Our words');
    for (const target of [id, own]) {
      victim.send(account.own, edit(target, 'Other words'));
      attacker.send(account.own, revoke(target));
      attacker.send(group, edit(target, 'Foul words'));
    }
    assert.deepEqual([(await toldOf(id)).changes, (await toldOf(own)).changes], [[], []]);
  });

  it('is not changed by another message under its id', async () => {
    const id = victim.text(group, 'My words');
    // Strangers see the id of a message once it has arrived.
    await account.arrives(id);
    attacker.text(group, 'Foul words', { id });
    attacker.send(group, edit(id, 'Fouler words'));
    assert.deepEqual(await toldOf(id), { words: [[victim.jid, 'My words']], changes: [] });
  });

  it('is sent again with the account’s own words, whoever has used its id since', async () => {
    await account.arrives(victim.text(account.own, 'Directly'));
    await victim.message(await sendText(account.recorded, victim.jid, 'Answer'));
    victim.phone.restart(`${account.own.number}.${account.own.device.id}`);
    victim.goOffline();
    const id = await sendText(account.recorded, victim.jid, 'Our words');
    victim.text(account.own, 'Foul words', { id });
    await account.arrives(victim.text(account.own, 'Behind it'));
    victim.comeOnline();
    assert.equal((await victim.message(id)).wire.conversation, 'Our words');
    // Messages of others are not sent in the name of the account.
    const theirs = victim.text(account.own, 'Their words');
    await account.arrives(theirs);
    const asks = victim.messages.length;
    account.own.device.deliver({
      tag: 'receipt',
      attrs: { from: victim.jid, id: theirs, type: 'retry', t: '1' },
      content: [{ tag: 'retry', attrs: { count: '1', id: theirs, t: '1', v: '1' } }],
    });
    await victim.message(await sendText(account.recorded, victim.jid, 'Behind it'));
    assert.deepEqual(
      victim.messages.slice(asks).map(({ wire }) => wire.conversation),
      ['Behind it'],
    );
  });

  it('is protected while the account is away, too', async () => {
    await account.recorded.session.close();
    const edited = victim.text(group, 'First words');
    attacker.send(group, edit(edited, 'Foul words'));
    const deleted = victim.text(group, 'Second words');
    attacker.send(group, revoke(deleted));
    const taken = victim.text(group, 'Third words');
    attacker.text(group, 'Foul words', { id: taken });
    await account.open();
    for (const [id, words] of [
      [edited, 'First words'],
      [deleted, 'Second words'],
      [taken, 'Third words'],
    ] as const) {
      assert.deepEqual(await toldOf(id), { words: [[victim.jid, words]], changes: [] });
    }
  });

  it('is protected when it was not recorded before its session ended, too', async () => {
    await account.recorded.session.close();
    const id = 'A1B2C3D4E5F60718293A';
    let refusals = 0;
    const inbound = async (messages: readonly { networkId: string }[]) => {
      if (!messages.some(({ networkId }) => networkId === id)) return;
      refusals += 1;
      throw new Error('it is not recorded');
    };
    const away = await account.open({ sink: { inbound } });
    victim.text(group, 'My words', { id });
    await until(() => refusals > 0, 'the first comes');
    attacker.text(group, 'Foul words', { id });
    await until(() => account.own.device.pending.length === 0, 'both are decrypted');
    await away.session.close();
    await account.open();
    assert.deepEqual(await toldOf(id), { words: [[victim.jid, 'My words']], changes: [] });
  });
});
