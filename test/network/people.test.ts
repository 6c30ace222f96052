import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { NetworkFact } from '@posthorn/core/network/driver.ts';
import { openInstance, pairInstance, startSandbox, temporaryFolder, until } from './sandbox-harness.ts';

const OURS = '5511988880001';
const THEIRS = '5511977770001';

const kindsOf = (facts: readonly NetworkFact[]) => facts.map(({ kind }) => kind);

test('groups, anonymous ids, profiles and shelves outlive a restart', async (t) => {
  const dataDir = await temporaryFolder(t);
  const before = await startSandbox(t, { dataDir });
  await before.post('/phones', { phone: THEIRS, lid: 'later', about: 'Away' });
  const instance = await pairInstance(t, before, OURS);
  await instance.session.act('profile_update', { name: 'Acme', about: 'Open', picture: 'iVBORw0KGgo=' });
  const { group } = await instance.session.act('group_create', {
    name: 'Ours',
    participants: [`${THEIRS}@s.whatsapp.net`],
  });
  await instance.session.act('group_update', {
    group: group.jid,
    description: 'All',
    announce: true,
    locked: true,
  });
  const { code } = await instance.session.act('group_invite', { group: group.jid });
  await before.post(`/phones/${THEIRS}/business`, { products: [{ id: 'p1', image_base64: 'iVBORw0KGgo=' }] });
  await until(() => instance.facts.length === 3);
  assert.deepEqual(kindsOf(instance.facts), ['group', 'group_participants', 'group_changed']);
  await instance.session.close();
  const paths = [`/groups/${group.jid}`, `/phones/${OURS}`, `/phones/${THEIRS}`];
  const told = await Promise.all(paths.map((path) => before.get(path)));
  const catalog = await before.post(`/phones/${THEIRS}/business`, { products: [{ id: 'p1', name: 'Rose' }] });
  await before.close();

  // A journal that is rewritten as a whole, and then read once more.
  for (const compactAboveBytes of [1e9, 0, 1e9]) {
    const after = await startSandbox(t, { dataDir, compactAboveBytes });
    // The presence of an instance is not kept.
    const shown = await Promise.all(paths.map((path) => after.get(path)));
    assert.deepEqual(shown, told);
    const again = await openInstance(t, after.url, { credentials: instance.identity!.credentials });
    const { name, about, picture_url } = await again.session.act('profile', {});
    assert.deepEqual([name, about], ['Acme', 'Open']);
    assert.match(picture_url ?? '', /^http:\/\/127\.0\.0\.1:\d+\/cdn\//);
    assert.equal((await again.session.act('group_invite', { group: group.jid })).code, code);
    const lid = told[2].lid;
    assert.deepEqual(await again.session.act('lid_phone', { lid }), { phone: null });
    const { products } = await again.session.act('business_catalog', {
      jid: `${THEIRS}@s.whatsapp.net`,
      limit: 5,
    });
    assert.deepEqual(products, catalog.products);
    await again.session.close();
    await after.close();
  }
});

test('a phone that is paired late gets its groups; the phone behind an anonymous id comes first', async (t) => {
  const sandbox = await startSandbox(t);
  await sandbox.post('/phones', { phone: THEIRS, lid: 'at_once' });
  const { jid } = await sandbox.post(`/phones/${THEIRS}/groups`, { name: 'Early', participants: [OURS] });
  const instance = await pairInstance(t, sandbox, OURS);
  await until(() => instance.facts.length === 2);
  const [pair, group] = instance.facts;
  assert.ok(pair?.kind === 'lid' && group?.kind === 'group');
  assert.deepEqual([pair.phone, group.group.jid, group.group.owner], [THEIRS, jid, pair.lid]);
});

test('the last admin who leaves hands the group over; owners cannot be removed', async (t) => {
  const sandbox = await startSandbox(t);
  const [owner, admin, member] = ['5511900000001', '5511900000002', '5511900000003'];
  const { jid } = await sandbox.post(`/phones/${owner}/groups`, { name: 'G', participants: [admin, member] });
  await sandbox.post(`/phones/${owner}/groups/${jid}`, { promote: [admin] });
  const tried = await sandbox.post(`/phones/${admin}/groups/${jid}`, { remove: [owner], demote: [owner] });
  assert.deepEqual(tried.refused, [
    { phone: owner, reason: 'not_allowed' },
    { phone: owner, reason: 'not_allowed' },
  ]);
  const notAdmin = await sandbox.call('POST', `/phones/${member}/groups/${jid}`, { announce: true });
  assert.deepEqual([notAdmin.status, notAdmin.body.error_code], [409, 'REFUSED']);
  await sandbox.post(`/phones/${owner}/groups/${jid}/leave`);
  const left = await sandbox.post(`/phones/${admin}/groups/${jid}/leave`);
  assert.deepEqual([left.participants, left.admins], [[member], [member]]);
});

test('in a group in which only admins send, a phone that is none is refused and may react', async (t) => {
  const sandbox = await startSandbox(t);
  const [owner, member] = ['5511900000001', '5511900000002'];
  const { jid } = await sandbox.post(`/phones/${owner}/groups`, { name: 'G', participants: [member] });
  await sandbox.post(`/phones/${owner}/groups/${jid}`, { announce: true });
  const { id } = await sandbox.post(`/phones/${owner}/messages`, { to: jid, text: 'news' });
  const refused = await sandbox.call('POST', `/phones/${member}/messages`, { to: jid, text: 'me' });
  assert.deepEqual([refused.status, refused.body.error_code], [409, 'REFUSED']);
  const reaction = { to: jid, type: 'reaction', message_id: id, emoji: '👍' };
  assert.equal((await sandbox.call('POST', `/phones/${member}/messages`, reaction)).status, 201);
});
