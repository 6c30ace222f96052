import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import { eventPayloads } from '@posthorn/contract/events.ts';
import { waitFor } from '../support/process.ts';
import { seedCompany, seedInstance } from '../support/seed.ts';
import { type Sending, startSending, type TestInstance } from '../support/sending.ts';

let pipeline: Sending;
let instance: TestInstance;

before(async () => {
  pipeline = await startSending();
  instance = await pipeline.connect();
});
after(() => pipeline.close());

const call = (method: string, path: string, body?: unknown, who = instance) =>
  pipeline.call(who, method, path, body);

async function ok(method: string, path: string, body?: unknown, who = instance) {
  const answer = await call(method, path, body, who);
  assert.ok(answer.status < 300, `${method} ${path}: ${answer.text}`);
  return answer.body;
}

const jid = (phone: string) => `${phone}@s.whatsapp.net`;
const ofPhone = (phone: string, path: string, body: object = {}) =>
  pipeline.sandbox.post(`/phones/${phone}${path}`, body);
const ofGroup = (phone: string, group: string, body: object) =>
  ofPhone(phone, `/groups/${encodeURIComponent(group)}`, body);

async function eventsOf(type: string, group: string) {
  const found = await pipeline.api.parts.db.query<{ data: Record<string, unknown> }>(
    `SELECT data FROM events WHERE type = $1 AND data->>'jid' = $2 ORDER BY tx, id`,
    [type, group],
  );
  return found.rows.map(({ data }) => data);
}

/** Waits until the list shows the group and `fits`. */
const listed = (
  group: string,
  fits: (row: { name: string; role: string; participant_count: number }) => boolean = () => true,
) =>
  waitFor(async () => {
    const { data } = await ok('GET', '/groups?limit=200');
    return data.find(
      (row: { jid: string; name: string; role: string; participant_count: number }) =>
        row.jid === group && fits(row),
    );
  });

/** Waits until the instance learns that it is no longer a member. */
const gone = (group: string) =>
  waitFor(async () => (await call('GET', `/groups/${group}`)).status === 404 || undefined);

describe('a group that the instance makes', () => {
  test('has the requested participants, and is read without asking the network', async () => {
    const [ana, bob] = [pipeline.newPhone(), pipeline.newPhone()];
    const made = await ok('POST', '/groups', {
      name: '  Support ',
      participants: [`+${ana}`, jid(bob), ana],
    });
    assert.match(made.jid, /^\d+@g\.us$/);
    assert.deepEqual(
      [made.name, made.description, made.owner_jid, made.announce, made.locked, made.refused],
      ['Support', '', instance.jid, false, false, []],
    );
    assert.deepEqual(made.participants, [
      { jid: instance.jid, phone: instance.phone, role: 'superadmin' },
      { jid: jid(ana), phone: ana, role: 'member' },
      { jid: jid(bob), phone: bob, role: 'member' },
    ]);
    const row = await listed(made.jid);
    assert.deepEqual([row.participant_count, row.role], [3, 'superadmin']);
    const { refused: _, updated_at: __, ...whole } = made;
    assert.deepEqual(
      { ...(await ok('GET', `/groups/${made.jid}`)), updated_at: 0 },
      { ...whole, updated_at: 0 },
    );
  });

  test('names the people whom the network did not add', async () => {
    const [ana, shy] = [pipeline.newPhone(), pipeline.newPhone()];
    await ofPhone(shy, '/block', { phone: instance.phone });
    const made = await ok('POST', '/groups', { name: 'Shy', participants: [ana, shy] });
    assert.deepEqual(made.refused, [{ jid: jid(shy), reason: 'not_allowed' }]);
    assert.equal(made.participants.length, 2);
  });

  test('is changed field by field, and each change causes one event', async () => {
    const made = await ok('POST', '/groups', { name: 'Before', participants: [pipeline.newPhone()] });
    const path = `/groups/${made.jid}`;
    assert.equal((await ok('PATCH', path, { name: 'After' })).name, 'After');
    const all = await ok('PATCH', path, { description: 'Ask here', announce: true, locked: true });
    assert.deepEqual(
      [all.name, all.description, all.announce, all.locked],
      ['After', 'Ask here', true, true],
    );
    assert.equal((await listed(made.jid, ({ name }) => name === 'After')).locked, true);
    await waitFor(async () => (await eventsOf('group.updated', made.jid)).length === 2);
    const told = await eventsOf('group.updated', made.jid);
    for (const data of told) assert.deepEqual(eventPayloads['group.updated'].parse(data), data);
    assert.deepEqual(
      told.map(({ timestamp: _, ...data }) => data),
      [
        { jid: made.jid, by: instance.jid, phone: instance.phone, name: 'After' },
        {
          jid: made.jid,
          by: instance.jid,
          phone: instance.phone,
          description: 'Ask here',
          announce: true,
          locked: true,
        },
      ],
    );
  });

  test('has participants added, promoted, demoted and removed, with an outcome for each', async () => {
    const [ana, bob, eve] = [pipeline.newPhone(), pipeline.newPhone(), pipeline.newPhone()];
    const made = await ok('POST', '/groups', { name: 'People', participants: [ana] });
    const first = await ok('POST', `/groups/${made.jid}/participants`, {
      add: [ana, bob],
      promote: [bob],
      remove: [eve],
    });
    assert.deepEqual(first, {
      jid: made.jid,
      results: [
        { jid: jid(ana), action: 'add', done: false, reason: 'already_in' },
        { jid: jid(bob), action: 'add', done: true, reason: null },
        { jid: jid(bob), action: 'promote', done: true, reason: null },
        { jid: jid(eve), action: 'remove', done: false, reason: 'not_in' },
      ],
    });
    await ok('POST', `/groups/${made.jid}/participants`, { demote: [bob], remove: [ana] });
    const { participants } = await ok('GET', `/groups/${made.jid}`);
    assert.deepEqual(
      participants.map((one: { phone: string; role: string }) => [one.phone, one.role]),
      [
        [instance.phone, 'superadmin'],
        [bob, 'member'],
      ],
    );
    const actions = async () =>
      (await eventsOf('group.participants_changed', made.jid)).map(({ action }) => action);
    await waitFor(async () => (await actions()).length === 5 || undefined);
    assert.deepEqual(await actions(), ['add', 'add', 'promote', 'demote', 'remove']);
    for (const data of await eventsOf('group.participants_changed', made.jid))
      assert.deepEqual(eventPayloads['group.participants_changed'].parse(data), data);
  });

  test('gives an outcome for a step that the network refuses after another one was done', async () => {
    const made = await ok('POST', '/groups', { name: 'Self', participants: [pipeline.newPhone()] });
    const results = await ok('POST', `/groups/${made.jid}/participants`, {
      demote: [instance.phone],
      remove: [instance.phone],
    });
    assert.deepEqual(
      results.results.map((one: { done: boolean; reason: string }) => [one.done, one.reason]),
      [
        [true, null],
        [false, 'not_admin'],
      ],
    );
  });
});

describe('a group of others', () => {
  test('is made and changed by a phone, and causes events', async () => {
    const owner = pipeline.newPhone();
    const { jid: group } = await ofPhone(owner, '/groups', {
      name: 'Theirs',
      participants: [instance.phone],
    });
    assert.equal((await listed(group)).role, 'member');
    await ofGroup(owner, group, { name: 'Theirs, renamed', promote: [instance.phone] });
    assert.equal((await listed(group, ({ role }) => role === 'admin')).name, 'Theirs, renamed');
    const told = await eventsOf('group.updated', group);
    assert.deepEqual([told.length, told[0]?.by, told[0]?.phone], [1, jid(owner), owner]);
  });

  test('loses the instance by a removal, and takes it back by invite', async () => {
    const owner = pipeline.newPhone();
    const { jid: group, code } = await ofPhone(owner, '/groups', {
      name: 'Door',
      participants: [instance.phone],
    });
    await listed(group);
    await ofGroup(owner, group, { remove: [instance.phone] });
    await gone(group);
    const refused = await call('PATCH', `/groups/${group}`, { name: 'Mine' });
    assert.deepEqual([refused.status, refused.body.error_code], [404, 'NOT_FOUND']);
    const joined = await ok('POST', '/groups/join', { link: `https://chat.whatsapp.com/${code}` });
    assert.equal(joined.jid, group);
    assert.equal((await listed(group)).role, 'member');
    assert.deepEqual(await ok('POST', `/groups/${group}/leave`), { jid: group, left: true });
    assert.equal((await call('GET', `/groups/${group}`)).status, 404);
    await waitFor(
      async () => (await eventsOf('group.participants_changed', group)).length === 4 || undefined,
    );
    await gone(group);
  });

  test('in which only admins send refuses the messages of the instance, and says why', async () => {
    const owner = pipeline.newPhone();
    const { jid: group } = await ofPhone(owner, '/groups', { name: 'News', participants: [instance.phone] });
    await ofGroup(owner, group, { announce: true });
    const { message_id: id } = await pipeline.send(instance, '/messages/text', { to: group, text: 'me too' });
    const failed = await pipeline.event(
      instance,
      'text.delivery_failed',
      (data) => data.message_ids[0] === id,
    );
    assert.equal(failed.data.reason, 'only_admins_send');
    await ofGroup(owner, group, { promote: [instance.phone] });
    const sent = await pipeline.send(instance, '/messages/text', { to: group, text: 'as admin' });
    await pipeline.event(instance, 'message.sent', (data) => data.message_ids[0] === sent.message_id);
  });

  test('becomes known to an instance that is paired later, or that asks', async () => {
    const [owner, late] = [pipeline.newPhone(), pipeline.newPhone()];
    const { jid: group } = await ofPhone(owner, '/groups', { name: 'Early', participants: [late] });
    await pipeline.api.parts.db.query('DELETE FROM chat_groups WHERE jid = $1', [group]);
    await ofGroup(owner, group, { add: [instance.phone] });
    await listed(group);
    await pipeline.api.parts.db.query('DELETE FROM chat_groups WHERE instance_id = $1', [instance.id]);
    assert.equal((await call('GET', `/groups/${group}`)).status, 404);
    assert.equal((await ok('GET', `/groups/${group}?refresh=true`)).name, 'Early');
    const refreshed = await ok('GET', '/groups?refresh=true&limit=200');
    assert.equal(refreshed.total, refreshed.data.length);
    assert.ok(refreshed.data.some((row: { jid: string }) => row.jid === group));
  });
});

describe('invites', () => {
  test('are read and voided by admins', async () => {
    const made = await ok('POST', '/groups', { name: 'Invites', participants: [] });
    const first = await ok('GET', `/groups/${made.jid}/invite`);
    assert.deepEqual(first, {
      jid: made.jid,
      code: first.code,
      link: `https://chat.whatsapp.com/${first.code}`,
    });
    const second = await ok('POST', `/groups/${made.jid}/invite`);
    assert.notEqual(second.code, first.code);
    assert.equal((await ok('GET', `/groups/${made.jid}/invite`)).code, second.code);
    const guest = await pipeline.connect();
    const void_ = await call('POST', '/groups/join', { code: first.code }, guest);
    assert.deepEqual([void_.status, void_.body.error_code], [400, 'BAD_REQUEST']);
    assert.equal((await ok('POST', '/groups/join', { code: second.code }, guest)).participants.length, 2);
  });
});

describe('a request that the network refuses', () => {
  let foreign: string;
  before(async () => {
    const owner = pipeline.newPhone();
    foreign = (await ofPhone(owner, '/groups', { name: 'Owned', participants: [instance.phone] })).jid;
    await ofGroup(owner, foreign, { locked: true });
    await listed(foreign);
  });

  for (const [what, method, path, body] of [
    ['renaming a locked group', 'PATCH', '', { name: 'x' }],
    ['settings', 'PATCH', '', { announce: true }],
    ['participants', 'POST', '/participants', { add: ['5511999990000'] }],
    ['the invite', 'GET', '/invite', undefined],
    ['voiding the invite', 'POST', '/invite', undefined],
  ] as const) {
    test(`is 403 FORBIDDEN without an admin: ${what}`, async () => {
      const answer = await call(method, `/groups/${foreign}${path}`, body);
      assert.deepEqual([answer.status, answer.body.error_code], [403, 'FORBIDDEN'], answer.text);
    });
  }

  test('is 409 CONFLICT for a full group', async () => {
    const made = await pipeline.sandbox.post('/groups', {
      name: 'Full',
      participants: [pipeline.newPhone()],
      capacity: 1,
    });
    const answer = await call('POST', '/groups/join', { code: made.code });
    assert.deepEqual([answer.status, answer.body.error_code], [409, 'CONFLICT']);
  });
});

describe('bad requests', () => {
  const name = (chars: number) => 'n'.repeat(chars);
  const phones = (count: number) =>
    Array.from({ length: count }, (_, i) => `55119${String(i).padStart(8, '0')}`);

  for (const [what, method, path, body, code] of [
    ['no name', 'POST', '/groups', { participants: [] }, 'MISSING_FIELD'],
    ['a name of spaces', 'POST', '/groups', { name: '  ' }, 'MISSING_FIELD'],
    ['101 characters', 'POST', '/groups', { name: name(101) }, 'BAD_REQUEST'],
    ['257 people', 'POST', '/groups', { name: 'x', participants: phones(257) }, 'BAD_REQUEST'],
    ['no phone', 'POST', '/groups', { name: 'x', participants: ['12'] }, 'INVALID_PHONE'],
    [
      'a group in a group',
      'POST',
      '/groups',
      { name: 'x', participants: ['123456@g.us'] },
      'INVALID_RECIPIENT',
    ],
    ['an invite that is none', 'POST', '/groups/join', { code: '!' }, 'BAD_REQUEST'],
    ['another link', 'POST', '/groups/join', { link: 'https://evil.test/abcdefgh' }, 'BAD_REQUEST'],
    ['code and link', 'POST', '/groups/join', { code: 'abcdefgh', link: 'abcdefgh' }, 'BAD_REQUEST'],
    ['neither', 'POST', '/groups/join', {}, 'BAD_REQUEST'],
    ['an unknown invite', 'POST', '/groups/join', { code: 'abcdefghij' }, 'BAD_REQUEST'],
  ] as const) {
    test(`${what}: 400 ${code}`, async () => {
      const answer = await call(method, path, body);
      assert.deepEqual([answer.status, answer.body.error_code], [400, code], answer.text);
    });
  }

  test('limits are exact: 100 characters and 2048 of a description pass', async () => {
    const made = await ok('POST', '/groups', { name: name(100) });
    const path = `/groups/${made.jid}`;
    assert.equal((await ok('PATCH', path, { description: name(2048) })).description.length, 2048);
    for (const [body, message] of [
      [{ description: name(2049) }, /^description: /],
      [{}, /^give at least one of name/],
    ] as const) {
      const answer = await call('PATCH', path, body);
      assert.equal(answer.status, 400);
      assert.match(answer.body.message, message);
    }
    assert.match(
      (await call('POST', `${path}/participants`, { add: [] })).body.message,
      /^give at least one of add/,
    );
  });

  for (const [state, code] of [
    ['DISCONNECTED', 'INSTANCE_NOT_CONNECTED'],
    ['BANNED', 'INSTANCE_BANNED'],
    ['HARD_PAUSED', 'INSTANCE_HARD_PAUSED'],
  ] as const) {
    test(`409 ${code} while the instance is ${state}, but lists can still be read`, async () => {
      const id = await seedInstance(pipeline.api.parts.db, pipeline.company.companyId, { state });
      const other = { ...instance, id };
      const answer = await call('POST', '/groups', { name: 'x' }, other);
      assert.deepEqual([answer.status, answer.body.error_code], [409, code]);
      assert.equal((await ok('GET', '/groups', undefined, other)).total, 0);
    });
  }

  test('404 for an instance or group of another company', async () => {
    const stranger = await seedCompany(pipeline.api.parts.db);
    const made = await ok('POST', '/groups', { name: 'Ours' });
    for (const id of [instance.id, randomUUID()]) {
      const answer = await pipeline.api.call('GET', `/v1/instances/${id}/groups/${made.jid}`, {
        key: stranger.apiKey,
      });
      assert.deepEqual([answer.status, answer.body.error_code], [404, 'INSTANCE_NOT_FOUND']);
    }
    const other = { ...instance, id: await seedInstance(pipeline.api.parts.db, pipeline.company.companyId) };
    for (const [method, path, body] of [
      ['GET', '', undefined],
      ['PATCH', '', { name: 'x' }],
      ['POST', '/participants', { add: ['5511999990000'] }],
      ['GET', '/invite', undefined],
      ['POST', '/leave', undefined],
    ] as const) {
      const answer = await call(method, `/groups/${made.jid}${path}`, body, other);
      assert.deepEqual([answer.status, answer.body.error_code], [404, 'NOT_FOUND']);
    }
  });
});

describe('a group that is changed here and by a phone at once', () => {
  test('is in the end the same as on the network', async () => {
    const owner = pipeline.newPhone();
    const people = [pipeline.newPhone(), pipeline.newPhone(), pipeline.newPhone()];
    const { jid: group } = await ofPhone(owner, '/groups', { name: 'Both', participants: [instance.phone] });
    await ofGroup(owner, group, { promote: [instance.phone] });
    await listed(group, ({ role }) => role === 'admin');
    // A fixed series of pseudo-random steps: the same every time.
    let seed = 7;
    const pick = (count: number) => {
      seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648;
      return seed % count;
    };
    for (let round = 0; round < 30; round += 1) {
      const action = ['add', 'remove', 'promote', 'demote'][pick(4)]!;
      const person = people[pick(3)]!;
      await Promise.all([
        call('PATCH', `/groups/${group}`, { name: `here ${round}`, locked: pick(2) === 0 }),
        ofGroup(owner, group, { name: `phone ${round}`, [action]: [person] }),
        call('POST', `/groups/${group}/participants`, { add: [people[pick(3)]!] }),
      ]);
    }
    const theirs = await pipeline.sandbox.get(`/groups/${group}`);
    const isSame = async () => {
      const ours = await ok('GET', `/groups/${group}`);
      const phones = ours.participants.map((one: { phone: string }) => one.phone).sort();
      const admins = ours.participants.filter((one: { role: string }) => one.role !== 'member');
      return (
        ours.name === theirs.name &&
        ours.locked === theirs.locked &&
        JSON.stringify(phones) === JSON.stringify([...theirs.participants].sort()) &&
        admins.length === theirs.admins.length
      );
    };
    await waitFor(async () => (await isSame()) || undefined);
  });
});

describe('news of groups that a session receives', () => {
  test('are recorded once when they come twice, and hostile ones harm nobody', async () => {
    const owner = pipeline.newPhone();
    const { jid: group } = await ofPhone(owner, '/groups', { name: 'Twice', participants: [instance.phone] });
    await listed(group);
    await pipeline.sandbox.post('/faults', { kind: 'repeat_events', account: instance.phone });
    await ofGroup(owner, group, { name: 'Twice told', promote: [instance.phone] });
    await ofGroup(owner, group, { name: 'Twice told again' });
    await listed(group, (row) => row.name === 'Twice told again' && row.role === 'admin');
    await pipeline.sandbox.call('DELETE', '/faults');
    const at = Date.now();
    for (const fact of [
      { kind: 'group_changed', chat: group, by: null, name: `\u0000\ud800${'x'.repeat(900)}` },
      { kind: 'group_changed', chat: 'nowhere', by: 'x', name: 'y' },
      { kind: 'group_participants', chat: group, by: null, action: 'add', participants: ['\u0000', 'x@y'] },
    ])
      await pipeline.sandbox.post('/events', { account: instance.phone, event: { k: 'fact', fact, at } });
    const row = await listed(group, ({ name }) => name.startsWith('\ufffd'));
    assert.equal(row.name.length, 256);
    assert.equal(row.participant_count, 2);
    assert.equal((await eventsOf('group.updated', group)).length, 3);
    assert.equal((await eventsOf('group.participants_changed', group)).length, 2);
  });

  test('name people by an anonymous id or by their phone, and both mean the same person', async () => {
    const [owner, member, lid] = [pipeline.newPhone(), pipeline.newPhone(), '170000000000001@lid'];
    const { jid: group } = await ofPhone(owner, '/groups', {
      name: 'Either',
      participants: [instance.phone],
    });
    await listed(group);
    const action = (what: string, jid: string) => ({
      ...{ kind: 'group_participants', chat: group, by: null, action: what, participants: [jid] },
    });
    const told = { account: instance.phone };
    const tell = (fact: object) =>
      pipeline.sandbox.post('/events', { ...told, event: { k: 'fact', fact, at: Date.now() } });
    await tell(action('add', lid));
    await listed(group, (row) => row.participant_count === 3);
    await tell({ kind: 'lid', lid, phone: member });
    await tell(action('add', `${member}@s.whatsapp.net`));
    await tell({ kind: 'group_changed', chat: group, by: null, name: 'Added' });
    assert.equal((await listed(group, ({ name }) => name === 'Added')).participant_count, 3);
    await tell(action('remove', `${member}@s.whatsapp.net`));
    await listed(group, (row) => row.participant_count === 2);
  });

  test('do not outlive the pairing: another account has other groups', async () => {
    const guest = await pipeline.connect();
    const { jid: group } = await ok('POST', '/groups', { name: 'Old' }, guest);
    await ok('POST', `/groups/${group}/invite`, undefined, guest);
    const next = pipeline.newPhone();
    const { jid: other } = await ofPhone(pipeline.newPhone(), '/groups', {
      name: 'New',
      participants: [next],
    });
    await pipeline.sandbox.post('/faults', { kind: 'logout', instance: guest.id });
    const { db, bus } = pipeline.api.parts;
    const stateIs = (state: string) =>
      waitFor(async () => {
        const { rows } = await db.query<{ state: string; phone: string }>(
          'SELECT state, phone FROM instances WHERE id = $1',
          [guest.id],
        );
        return rows[0]?.state === state && rows[0];
      });
    await stateIs('DISCONNECTED');
    await db.query(`UPDATE instances SET wanted = 'connected' WHERE id = $1`, [guest.id]);
    bus.notify('instance', guest.id);
    await stateIs('CONNECTED');
    assert.equal((await ok('GET', '/groups', undefined, guest)).total, 0);
    assert.equal((await call('GET', `/groups/${other}`, undefined, guest)).status, 404);
  });

  test('are deleted with the instance', async () => {
    const guest = await pipeline.connect();
    await ok('POST', '/groups', { name: 'Short' }, guest);
    assert.equal(
      (await pipeline.api.call('DELETE', `/v1/instances/${guest.id}`, { key: pipeline.company.apiKey }))
        .status,
      204,
    );
    const left = await pipeline.api.parts.db.query('SELECT 1 FROM chat_groups WHERE instance_id = $1', [
      guest.id,
    ]);
    assert.equal(left.rows.length, 0);
  });
});
