import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { type EventType, eventPayloads } from '@posthorn/contract/events.ts';
import { LeaseLost } from '@posthorn/core/instances/lock-leases.ts';
import { DEFAULT_SHARDS, shardOf } from '@posthorn/core/instances/shard.ts';
import { type InstanceTransition, transitionInstance } from '@posthorn/core/instances/transition-instance.ts';
import { type InstanceState, mayTransition } from '@posthorn/core/instances/transitions.ts';
import { startTestMessaging, type TestMessaging } from '../support/messaging.ts';
import { waitFor } from '../support/process.ts';
import { type SeededCompany, seedCompany, seedInstance } from '../support/seed.ts';

const STATES = ['CREATED', 'PAIRING', 'CONNECTED', 'DISCONNECTED', 'HARD_PAUSED', 'BANNED'] as const;

describe('the life of an instance', () => {
  let api: TestMessaging;
  let owner: SeededCompany;
  before(async () => {
    api = await startTestMessaging();
    owner = await seedCompany(api.parts.db);
  });
  after(() => api.close());

  const seed = (state: InstanceState, wanted = 'disconnected') =>
    seedInstance(api.parts.db, owner.companyId, { state, wanted });
  const act = (id: string, action: string) =>
    api.call('POST', `/v1/instances/${id}/${action}`, { key: owner.apiKey });
  const rowOf = async (id: string) => {
    const { rows } = await api.parts.db.query<{ wanted: string; generation: number; state: string }>(
      'SELECT wanted, generation, state FROM instances WHERE id = $1',
      [id],
    );
    return rows[0]!;
  };
  const move = (instanceId: string, to: InstanceState, more: Partial<InstanceTransition> = {}) =>
    transitionInstance(api.parts, {
      instanceId,
      to,
      reason: null,
      lease: { shard: shardOf(instanceId, DEFAULT_SHARDS), epoch: 0 },
      ...more,
    });
  const eventsOf = async (id: string) => {
    const { rows } = await api.parts.db.query<{ type: EventType; data: unknown }>(
      'SELECT type, data FROM events WHERE instance_id = $1 ORDER BY id',
      [id],
    );
    return rows;
  };

  test('each state allows the actions of a table, and any other action is 409', async () => {
    const no = 'INVALID_INSTANCE_TRANSITION';
    const table: Record<string, Record<InstanceState, number | string>> = {
      connect: {
        CREATED: 202,
        PAIRING: 202,
        CONNECTED: 202,
        DISCONNECTED: 202,
        HARD_PAUSED: no,
        BANNED: no,
      },
      disconnect: {
        CREATED: 202,
        PAIRING: 202,
        CONNECTED: 202,
        DISCONNECTED: 202,
        HARD_PAUSED: 202,
        BANNED: no,
      },
      restart: {
        CREATED: no,
        PAIRING: 202,
        CONNECTED: 202,
        DISCONNECTED: 202,
        HARD_PAUSED: no,
        BANNED: no,
      },
      logout: {
        CREATED: no,
        PAIRING: 202,
        CONNECTED: 202,
        DISCONNECTED: 202,
        HARD_PAUSED: 202,
        BANNED: 202,
      },
    };
    for (const [action, row] of Object.entries(table)) {
      for (const state of STATES) {
        const id = await seed(state);
        const { status, body } = await act(id, action);
        assert.equal(status === 202 ? 202 : body.error_code, row[state], `${action} in ${state}`);
        assert.equal((await rowOf(id)).state, state, 'only the worker moves the state');
      }
    }
  });

  test('asking twice has the effect of asking once, but each restart counts', async () => {
    const id = await seed('DISCONNECTED');
    const first = await act(id, 'connect');
    const second = await act(id, 'connect');
    assert.deepEqual([first.status, second.status], [202, 202]);
    assert.deepEqual(second.body, first.body);
    assert.deepEqual(await rowOf(id), { wanted: 'connected', generation: 0, state: 'DISCONNECTED' });
    await Promise.all([act(id, 'restart'), act(id, 'restart'), act(id, 'restart')]);
    assert.equal((await rowOf(id)).generation, 3);
    await act(id, 'disconnect');
    assert.equal((await rowOf(id)).wanted, 'disconnected');
    await act(id, 'logout');
    assert.equal((await rowOf(id)).wanted, 'logged_out');
  });

  test('the worker that owns the instance is woken at once', async () => {
    const id = await seed('DISCONNECTED');
    const heard: string[] = [];
    api.parts.bus.on('instance', (payload) => heard.push(payload));
    await delay(50);
    await act(id, 'connect');
    await waitFor(() => heard.includes(id));
  });

  test('a state change by the worker shows in the instance, its connection and one event, with the time it began', async () => {
    const id = await seed('PAIRING', 'connected');
    const phone = '5511999990000';
    const paired = {
      phone,
      jid: `${phone}@s.whatsapp.net`,
      push_name: 'Desk',
      credentials: Buffer.from('sealed'),
    };
    assert.equal(await move(id, 'CONNECTED', { reason: 'paired', fields: paired }), 'moved');
    api.parts.clock.advance(1_000);
    const later = api.parts.clock.now().toISOString();
    assert.equal(
      await move(id, 'DISCONNECTED', { reason: 'connection_lost', fields: { last_error: 'reset' } }),
      'moved',
    );

    const { body } = await api.call('GET', `/v1/instances/${id}/connection`, { key: owner.apiKey });
    assert.equal(body.state, 'DISCONNECTED');
    assert.equal(body.since, later);
    assert.equal(body.last_error, 'reset');
    assert.deepEqual(
      body.moves.map(({ from, to, reason }: Record<string, string>) => [from, to, reason]),
      [
        ['CONNECTED', 'DISCONNECTED', 'connection_lost'],
        ['PAIRING', 'CONNECTED', 'paired'],
      ],
    );
    const instance = (await api.call('GET', `/v1/instances/${id}`, { key: owner.apiKey })).body;
    assert.deepEqual([instance.phone, instance.jid, instance.push_name], [phone, paired.jid, 'Desk']);
    const events = await eventsOf(id);
    assert.deepEqual(
      events.map(({ type }) => type),
      ['instance.paired', 'instance.connected', 'instance.disconnected'],
    );
    for (const { type, data } of events)
      assert.equal(eventPayloads[type].safeParse(data).success, true, type);
  });

  test('a ban shows as a restriction and ends with the logout', async () => {
    const id = await seed('CONNECTED', 'connected');
    await move(id, 'BANNED', { reason: 'banned', fields: { restriction: 'banned' } });
    const read = async () => (await api.call('GET', `/v1/instances/${id}`, { key: owner.apiKey })).body;
    assert.deepEqual([(await read()).state, (await read()).restriction], ['BANNED', 'banned']);
    await move(id, 'DISCONNECTED', {
      reason: 'logged_out',
      fields: { credentials: null, phone: null, jid: null },
    });
    assert.deepEqual([(await read()).state, (await read()).restriction], ['DISCONNECTED', null]);
    assert.deepEqual(
      (await eventsOf(id)).map(({ type }) => type),
      ['instance.banned', 'instance.logged_out'],
    );
  });

  test('a transition that is written again because its answer was lost adds no second event', async () => {
    const id = await seed('PAIRING', 'connected');
    const unpaired = { credentials: null, phone: null, jid: null };
    const story: [InstanceState, Partial<InstanceTransition>][] = [
      ['CONNECTED', { reason: 'paired', fields: { credentials: Buffer.from('sealed'), phone: '5511' } }],
      ['DISCONNECTED', { reason: 'connection_lost', fields: { last_error: 'reset' } }],
      ['CONNECTED', {}],
      ['HARD_PAUSED', { reason: 'hard_paused' }],
      ['DISCONNECTED', { reason: 'requested' }],
      ['DISCONNECTED', { reason: 'logged_out', fields: unpaired }],
    ];
    for (const [to, more] of story) {
      assert.equal(await move(id, to, more), 'moved');
      assert.equal(await move(id, to, more), 'moved');
    }
    assert.deepEqual(
      (await eventsOf(id)).map(({ type }) => type),
      [
        'instance.paired',
        'instance.connected',
        'instance.disconnected',
        'instance.connected',
        'instance.hard_paused',
        'instance.disconnected',
        'instance.logged_out',
      ],
    );
  });

  test('a worker that has lost the shard writes nothing', async () => {
    const id = await seed('CONNECTED', 'connected');
    const old = { shard: shardOf(id, DEFAULT_SHARDS), epoch: -1 };
    await assert.rejects(move(id, 'DISCONNECTED', { lease: old }), LeaseLost);
    assert.equal((await rowOf(id)).state, 'CONNECTED');
    assert.deepEqual(await eventsOf(id), []);
  });

  test('state changes that the table does not have are ignored', async () => {
    for (const from of STATES) {
      for (const to of STATES) {
        if (from === to || mayTransition(from, to)) continue;
        const id = await seed(from);
        assert.equal(await move(id, to), 'refused', `${from} -> ${to}`);
        assert.equal((await rowOf(id)).state, from);
      }
    }
  });

  test('settings begin with the defaults and change one by one, also at the same time', async () => {
    const id = (await api.call('POST', '/v1/instances', { key: owner.apiKey, body: { name: 'Settings' } }))
      .body.id;
    const path = `/v1/instances/${id}/settings`;
    const defaults = {
      passive_mode_enabled: false,
      anti_spam_guard_enabled: true,
      anti_spam_temperature_enabled: true,
      humanize_enabled: true,
      reject_calls: false,
      ignore_groups: false,
      always_online: false,
      auto_read: false,
      store_media: true,
    };
    assert.deepEqual((await api.call('GET', path, { key: owner.apiKey })).body, defaults);
    const changes = [{ passive_mode_enabled: true }, { auto_read: true }, { store_media: false }, {}];
    await Promise.all(changes.map((body) => api.call('PATCH', path, { key: owner.apiKey, body })));
    const expected = { ...defaults, passive_mode_enabled: true, auto_read: true, store_media: false };
    assert.deepEqual((await api.call('GET', path, { key: owner.apiKey })).body, expected);
  });

  test('an instance may begin with settings, and only those are stored', async () => {
    const create = (name: string, settings: unknown) =>
      api.call('POST', '/v1/instances', { key: owner.apiKey, body: { name, settings } });
    const { status, body } = await create('Begins so', {
      humanize_enabled: false,
      auto_read: true,
      other: 1,
    });
    assert.equal(status, 201);
    const found = await api.parts.db.query('SELECT settings FROM instances WHERE id = $1', [body.id]);
    assert.deepEqual(found.rows, [{ settings: { humanize_enabled: false, auto_read: true } }]);
    const { body: settings } = await api.call('GET', `/v1/instances/${body.id}/settings`, {
      key: owner.apiKey,
    });
    assert.deepEqual(
      [settings.humanize_enabled, settings.auto_read, settings.store_media],
      [false, true, true],
    );
    for (const wrong of [{ humanize_enabled: 'no' }, [], 'humanize_enabled', null])
      assert.equal((await create('Wrong settings', wrong)).status, 400, JSON.stringify(wrong));
    assert.equal((await create('Wrong settings', {})).status, 201, 'what was refused took no name');
  });
});
