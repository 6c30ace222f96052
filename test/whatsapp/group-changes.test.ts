import assert from 'node:assert/strict';
import { test } from 'node:test';
import { newNumber } from '../support/whatsapp/driver-harness.ts';
import { announceChange } from '../support/whatsapp/groups.ts';
import { startBesieged } from '../support/whatsapp/hostile.ts';
import { node } from '../support/whatsapp/nodes.ts';
import { until } from '../support/whatsapp/phone-handle.ts';
import { seconds } from '../support/whatsapp/world.ts';

test('a change of a group names who made it by number, also somebody of whom nothing was known', async (t) => {
  const account = await startBesieged();
  t.after(() => account.close());
  const stranger = account.newPhone();
  const group = account.network.group(stranger, 'Strangers', [account.own], 'lid');
  announceChange(group, stranger.phone, node('subject', { subject: 'New friends' }));
  const told = () => account.recorded.facts.filter(({ kind }) => kind === 'group_changed');
  await until(() => told().length > 0, 'the change');
  assert.deepEqual(
    told().map(({ at: _, ...fact }) => fact),
    [{ kind: 'group_changed', chat: group.jid, by: stranger.jid, name: 'New friends' }],
  );
});

test('each change of a group is told, however fast they come, and also that its description was deleted', async (t) => {
  const account = await startBesieged();
  t.after(() => account.close());
  const friend = account.newPhone();
  await account.arrives(friend.text(account.own, 'Hello'));
  const group = account.network.group(friend, 'Friends', [account.own]);
  for (const change of [
    node('description', { id: 'A' }, [node('body', {}, Buffer.from('About us'))]),
    node('description', { id: 'B', delete: 'true' }),
    node('subject', { subject: 'Old friends' }),
  ])
    announceChange(group, friend.phone, change);
  const told = () => account.recorded.facts.filter(({ kind }) => kind === 'group_changed');
  await until(() => told().length >= 3, 'the changes');
  assert.deepEqual(
    told().map(({ at: _, ...fact }) => fact),
    [{ description: 'About us' }, { description: '' }, { name: 'Old friends' }].map((said) => ({
      ...{ kind: 'group_changed', chat: group.jid, by: friend.jid },
      ...said,
    })),
  );
});

test('all changes that one notification names are told, and it is confirmed once', async (t) => {
  const account = await startBesieged();
  t.after(() => account.close());
  const [friend, other] = [account.newPhone(), account.newPhone()];
  const group = account.network.group(friend, 'Friends', [account.own, other]);
  const { device } = account.own;
  const people = [node('participant', { jid: other.lid, phone_number: other.jid })];
  const attrs = { from: group.jid, participant: friend.lid, participant_pn: friend.jid };
  device.deliver(
    node('notification', { ...attrs, type: 'w:gp2', id: 'N1', t: seconds(), addressing_mode: 'lid' }, [
      node('subject', { subject: 'Old friends' }),
      node('promote', {}, people),
      node('announcement'),
    ]),
  );
  const told = () => account.recorded.facts.filter(({ kind }) => kind.startsWith('group_'));
  await until(() => told().length >= 3, 'the changes');
  await account.arrives(friend.text(account.own, 'Behind them'));
  const by = { chat: group.jid, by: friend.jid };
  assert.deepEqual(
    told().map(({ at: _, ...fact }) => fact),
    [
      { kind: 'group_changed', ...by, name: 'Old friends' },
      { kind: 'group_participants', ...by, action: 'promote', participants: [other.jid] },
      { kind: 'group_changed', ...by, announce: true },
    ],
  );
  await until(() => device.pending.length === 0, 'the confirmation');
});

test('a group that is deleted is one that the account was taken out of', async (t) => {
  const account = await startBesieged();
  t.after(() => account.close());
  const friend = account.newPhone();
  const group = account.network.group(friend, 'Friends', [account.own], 'lid');
  announceChange(group, friend.phone, node('delete', { reason: 'group_deleted' }));
  const told = () => account.recorded.facts.filter(({ kind }) => kind === 'group_participants');
  await account.arrives(friend.text(account.own, 'Behind it'));
  assert.deepEqual(
    told().map(({ at: _, ...fact }) => fact),
    [
      {
        ...{ kind: 'group_participants', chat: group.jid, by: friend.jid },
        ...{ action: 'remove', participants: [account.own.jid] },
      },
    ],
  );
});

test('a group whose member has another number is told with that', async (t) => {
  const account = await startBesieged();
  t.after(() => account.close());
  const [friend, other] = [account.newPhone(), account.newPhone()];
  const group = account.network.group(friend, 'Friends', [account.own, other], 'lid');
  const [before, admin] = [other.jid, { phone: other.phone, admin: true }];
  other.takeNumber(newNumber());
  group.members.delete(before.split('@', 1)[0]!);
  group.members.set(other.number, admin);
  const { device } = account.own;
  const attrs = { from: group.jid, participant: other.lid, participant_pn: before, addressing_mode: 'lid' };
  device.deliver(
    node('notification', { ...attrs, type: 'w:gp2', id: 'N1', t: seconds() }, [
      node('modify', {}, [node('participant', { jid: other.lid, phone_number: other.jid })]),
    ]),
  );
  const told = () => account.recorded.facts.filter((fact) => fact.kind === 'group');
  await until(() => told().length > 1, 'the group');
  const { participants } = told().at(-1)!.group;
  assert.deepEqual(
    participants.map(({ jid, role }) => [jid, role]),
    [
      [friend.jid, 'superadmin'],
      [account.own.jid, 'member'],
      [other.jid, 'admin'],
    ],
  );
  await until(() => device.pending.length === 0, 'the confirmation');
});
