import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import { eventPayloads } from '@posthorn/contract/events.ts';
import { LABEL_COLOR_MAX, LABELS_MAX, NAME_MAX_CHARS } from '@posthorn/contract/limits.ts';
import { waitFor } from '../support/process.ts';
import { seedInstance } from '../support/seed.ts';
import { type Sending, startSending, type TestInstance } from '../support/sending.ts';
import { labelsOnPhone, settled } from './label-state.ts';

let pipeline: Sending;
let instance: TestInstance;

before(async () => {
  pipeline = await startSending();
  instance = await pipeline.connect();
});
after(() => pipeline.close());

async function ask(method: string, path: string, body?: unknown, of = instance) {
  const answer = await pipeline.call(of, method, path, body, { 'idempotency-key': '' });
  return { status: answer.status, code: answer.body?.error_code, body: answer.body };
}

async function make(name: string, color = 1, of = instance): Promise<string> {
  const made = await ask('POST', '/labels', { name, color }, of);
  assert.equal(made.status, 201, JSON.stringify(made.body));
  return made.body.label_id;
}

async function labelEvents(of: TestInstance) {
  const { rows } = await pipeline.api.parts.db.query<{ type: string; data: Record<string, unknown> }>(
    `SELECT type, data FROM events WHERE instance_id = $1 AND type LIKE 'label.%' ORDER BY tx, id`,
    [of.id],
  );
  for (const { type, data } of rows) eventPayloads[type as 'label.created'].parse(data);
  return rows;
}

describe('labels', () => {
  test('are made in the first free slot, stored at once, sent to the phone, and cause one event when it echoes them', async () => {
    const own = await pipeline.connect();
    const first = await ask('POST', '/labels', { name: 'VIP', color: 3 }, own);
    assert.deepEqual([first.status, first.body], [201, { label_id: '1', name: 'VIP', color: 3 }]);
    assert.equal(await make('New', 0, own), '2');
    assert.equal(await make('Old', 19, own), '3');
    assert.equal((await ask('DELETE', '/labels/2', undefined, own)).status, 204);
    assert.deepEqual((await ask('GET', '/labels', undefined, own)).body.labels, [
      { label_id: '1', name: 'VIP', color: 3 },
      { label_id: '3', name: 'Old', color: 19 },
    ]);
    assert.equal(await make('Next', 5, own), '2');
    const changed = await ask('PATCH', '/labels/1', { color: 4 }, own);
    assert.deepEqual([changed.status, changed.body], [200, { label_id: '1', name: 'VIP', color: 4 }]);
    await settled(pipeline, own);
    assert.deepEqual(
      await labelsOnPhone(pipeline, own),
      (await ask('GET', '/labels', undefined, own)).body.labels,
    );
    assert.deepEqual(
      (await labelEvents(own)).map(({ type, data }) => `${type} ${data.label_id} ${data.name} ${data.color}`),
      [
        'label.created 1 VIP 3',
        'label.created 2 New 0',
        'label.created 3 Old 19',
        'label.deleted 2 New 0',
        'label.created 2 Next 5',
        'label.updated 1 VIP 4',
      ],
    );
  });

  test('that are made, changed and deleted on the phone are here within a second or so', async () => {
    const own = await pipeline.connect();
    const onPhone = (body: object) => pipeline.sandbox.post(`/phones/${own.phone}/label`, body);
    const { label_id } = await onPhone({ name: 'Phone', color: 7 });
    await pipeline.event(own, 'label.created', (data) => data.name === 'Phone');
    assert.deepEqual((await ask('GET', '/labels', undefined, own)).body.labels, [
      { label_id, name: 'Phone', color: 7 },
    ]);
    await onPhone({ label_id, name: 'Renamed' });
    const event = await pipeline.event(own, 'label.updated');
    assert.deepEqual([event.data.label_id, event.data.name, event.data.color], [label_id, 'Renamed', 7]);
    await onPhone({ label_id, deleted: true });
    await pipeline.event(own, 'label.deleted');
    assert.deepEqual((await ask('GET', '/labels', undefined, own)).body.labels, []);
  });

  test(`are ${LABELS_MAX} at most: of 30 made at once ${LABELS_MAX} get a slot each, the others 400 label limit reached`, async () => {
    const own = await pipeline.connect();
    const answers = await Promise.all(
      Array.from({ length: 30 }, (_, n) => ask('POST', '/labels', { name: `L${n}`, color: n % 20 }, own)),
    );
    const made = answers.filter(({ status }) => status === 201);
    assert.deepEqual(
      made.map(({ body }) => Number(body.label_id)).sort((a, b) => a - b),
      Array.from({ length: LABELS_MAX }, (_, n) => n + 1),
    );
    for (const { status, body } of answers.filter((answer) => answer.status !== 201)) {
      assert.deepEqual([status, body.error_code, body.message], [400, 'BAD_REQUEST', 'label limit reached']);
    }
    assert.equal((await ask('DELETE', '/labels/11', undefined, own)).status, 204);
    assert.equal(await make('again', 1, own), '11');
    assert.equal(
      (await ask('POST', '/labels', { name: 'x', color: 1 }, own)).body.message,
      'label limit reached',
    );
  });

  test('a slot that the phone has just taken is not taken from it', async () => {
    const own = await pipeline.connect();
    // The phone's news are held back: only the network knows of slot 1.
    await pipeline.sandbox.post(`/phones/${own.phone}/label`, { name: 'Phone', color: 2 });
    assert.ok(['1', '2'].includes(await make('API', 3, own)));
    await settled(pipeline, own);
    assert.deepEqual(
      (await labelsOnPhone(pipeline, own)).map(({ label_id, name }) => `${label_id} ${name}`),
      ['1 Phone', '2 API'],
    );
  });

  test('names and colors have exact limits', async () => {
    const own = await pipeline.connect();
    for (const [body, code] of [
      [{ name: 'x' }, 'MISSING_FIELD'],
      [{ color: 1 }, 'MISSING_FIELD'],
      [{ name: '', color: 1 }, 'MISSING_FIELD'],
      [{ name: 'x', color: LABEL_COLOR_MAX + 1 }, 'BAD_REQUEST'],
      [{ name: 'x', color: -1 }, 'BAD_REQUEST'],
      [{ name: 'x', color: 1.5 }, 'BAD_REQUEST'],
      [{ name: 'x'.repeat(NAME_MAX_CHARS + 1), color: 1 }, 'BAD_REQUEST'],
    ] as const) {
      const answer = await ask('POST', '/labels', body, own);
      assert.deepEqual([answer.status, answer.code], [400, code], JSON.stringify(body).slice(0, 60));
    }
    for (const color of [0, LABEL_COLOR_MAX]) await make('x'.repeat(NAME_MAX_CHARS), color, own);
    const none = await ask('PATCH', '/labels/1', {}, own);
    assert.deepEqual([none.status, none.body.color], [200, 0], 'what is not given stays');
  });

  test('that do not exist answer 404 NOT_FOUND everywhere', async () => {
    const phone = pipeline.newPhone();
    const { message_id } = await pipeline.send(instance, '/messages/text', { to: phone, text: 'x' });
    for (const [method, path, body] of [
      ['PATCH', '/labels/20', { name: 'x' }],
      ['DELETE', '/labels/20', undefined],
      ['GET', '/labels/20/chats', undefined],
      ['POST', `/chats/${phone}/labels/20`, undefined],
      ['DELETE', `/chats/${phone}/labels/20`, undefined],
      ['POST', `/messages/${message_id}/labels/20`, undefined],
      ['DELETE', `/messages/${message_id}/labels/20`, undefined],
    ] as const) {
      const answer = await ask(method, path, body);
      assert.deepEqual([answer.status, answer.code], [404, 'NOT_FOUND'], `${method} ${path}`);
    }
  });

  test('are changed while the instance is connected, and read at any time', async () => {
    const id = await seedInstance(pipeline.api.parts.db, pipeline.company.companyId, {
      state: 'DISCONNECTED',
    });
    const away = { id, phone: '', jid: '' };
    await pipeline.api.parts.db.query(
      `INSERT INTO labels (instance_id, company_id, label_id, name, color, deleted, revision, updated_at)
       VALUES ($1, $2, '1', 'VIP', 1, false, 1, now())`,
      [id, pipeline.company.companyId],
    );
    for (const [method, path, body] of [
      ['POST', '/labels', { name: 'x', color: 1 }],
      ['PATCH', '/labels/1', { name: 'x' }],
      ['DELETE', '/labels/1', undefined],
      ['POST', '/chats/5511999990000/labels/1', undefined],
    ] as const) {
      const answer = await ask(method, path, body, away);
      assert.deepEqual([answer.status, answer.code], [409, 'INSTANCE_NOT_CONNECTED'], `${method} ${path}`);
    }
    assert.equal((await ask('GET', '/labels', undefined, away)).body.labels.length, 1);
    const left = await pipeline.api.parts.db.query(
      'SELECT 1 FROM labels WHERE instance_id = $1 AND reserved_until IS NOT NULL',
      [id],
    );
    assert.equal(left.rowCount, 0, 'no slot stays reserved');
  });
});

describe('labels on chats', () => {
  test('are the same in every spelling of the chat’s id', async () => {
    const own = await pipeline.connect();
    const label = await make('Spelled', 1, own);
    const jid = '5511987654321@s.whatsapp.net';
    const spellings = [
      '5511987654321',
      '+5511987654321',
      '+55 (11) 98765-4321',
      ' 5511987654321 ',
      jid,
      jid.toUpperCase(),
    ];
    for (const spelling of spellings) {
      const path = `/chats/${encodeURIComponent(spelling)}/labels/${label}`;
      const put = await ask('POST', path, undefined, own);
      assert.deepEqual(put.body, { label_id: label, chat: jid, associated: true }, spelling);
      assert.equal(put.status, 200);
    }
    const group = '120363041234567890@g.us';
    await ask('POST', `/chats/${group}/labels/${label}`, undefined, own);
    const found = await ask('GET', `/labels/${label}/chats`, undefined, own);
    assert.deepEqual(found.body, { label_id: label, chats: [group, jid] });
    for (const [chat, code] of [
      ['12', 'INVALID_PHONE'],
      ['nobody@nowhere', 'INVALID_RECIPIENT'],
      ['status@broadcast', 'INVALID_RECIPIENT'],
    ] as const) {
      const refused = await ask('POST', `/chats/${chat}/labels/${label}`, undefined, own);
      assert.deepEqual([refused.status, refused.code], [400, code], chat);
    }
    const off = await ask('DELETE', `/chats/+5511987654321/labels/${label}`, undefined, own);
    assert.deepEqual([off.status, off.body], [200, { label_id: label, chat: jid, associated: false }]);
    assert.deepEqual((await ask('GET', `/labels/${label}/chats`, undefined, own)).body.chats, [group]);
    await settled(pipeline, own);
    const told = (await labelEvents(own)).filter(({ type }) => type !== 'label.created');
    assert.deepEqual(
      told.map(({ type, data }) => [type, data.chat]),
      [
        ['label.associated', jid],
        ['label.associated', group],
        ['label.dissociated', jid],
      ],
      'what changes nothing is told to nobody',
    );
  });

  test('are gone from chats and messages once the label is deleted, and its slot comes back without them', async () => {
    const own = await pipeline.connect();
    const phone = pipeline.newPhone();
    const { message_id } = await pipeline.send(own, '/messages/text', { to: phone, text: 'x' });
    await pipeline.event(own, 'message.sent');
    const label = await make('Gone', 1, own);
    await ask('POST', `/chats/${phone}/labels/${label}`, undefined, own);
    await ask('POST', `/messages/${message_id}/labels/${label}`, undefined, own);
    assert.equal((await ask('DELETE', `/labels/${label}`, undefined, own)).status, 204);
    assert.equal(await make('Back', 1, own), label);
    assert.deepEqual((await ask('GET', `/labels/${label}/chats`, undefined, own)).body.chats, []);
    await settled(pipeline, own);
    assert.deepEqual((await ask('GET', `/labels/${label}/chats`, undefined, own)).body.chats, []);
    const { rows } = await pipeline.api.parts.db.query(
      'SELECT 1 FROM label_links WHERE instance_id = $1 AND associated',
      [own.id],
    );
    assert.equal(rows.length, 0);
  });

  test('arrive when the phone puts them on or takes them off', async () => {
    const own = await pipeline.connect();
    const phone = pipeline.newPhone();
    const label = await make('Phone', 1, own);
    const put = (associated: boolean) =>
      pipeline.sandbox.post(`/phones/${own.phone}/put-label`, { label_id: label, chat: phone, associated });
    await put(true);
    await pipeline.event(own, 'label.associated', (data) => data.chat === `${phone}@s.whatsapp.net`);
    assert.equal((await ask('GET', `/labels/${label}/chats`, undefined, own)).body.chats.length, 1);
    await put(false);
    await pipeline.event(own, 'label.dissociated', (data) => data.chat === `${phone}@s.whatsapp.net`);
    assert.equal((await ask('GET', `/labels/${label}/chats`, undefined, own)).body.chats.length, 0);
  });
});

describe('labels on messages', () => {
  test('are put on sent and received messages by UUID or by network id', async () => {
    const own = await pipeline.connect();
    const phone = pipeline.newPhone();
    const label = await make('Message', 1, own);
    const { message_id } = await pipeline.send(own, '/messages/text', { to: phone, text: 'x' });
    await pipeline.event(own, 'message.sent');
    const hex = message_id.replaceAll('-', '').toUpperCase();
    for (const name of [message_id, hex, hex.toLowerCase()]) {
      const put = await ask('POST', `/messages/${name}/labels/${label}`, undefined, own);
      assert.deepEqual([put.status, put.body], [200, { label_id: label, message_id, associated: true }]);
    }
    const inbound = await pipeline.sandbox.post(`/phones/${phone}/messages`, { to: own.phone, text: 'hi' });
    const received = await pipeline.event(own, 'message.received');
    const theirs = await ask('POST', `/messages/${inbound.id}/labels/${label}`, undefined, own);
    assert.deepEqual(theirs.body, {
      label_id: label,
      message_id: received.data.message_ids[0],
      associated: true,
    });
    const onPhone = await pipeline.sandbox.call('GET', `/phones/${own.phone}/labels`);
    assert.deepEqual(onPhone.body.labels[0].messages, [hex, inbound.id]);
    await pipeline.sandbox.post(`/phones/${own.phone}/put-label`, {
      label_id: label,
      message_id: inbound.id,
      associated: false,
    });
    const off = await pipeline.event(own, 'label.dissociated');
    assert.equal(off.data.message_id, received.data.message_ids[0]);
    const told = (await labelEvents(own)).filter(({ type }) => type === 'label.associated');
    assert.deepEqual(
      told.map(({ data }) => data.message_id),
      [message_id, received.data.message_ids[0]],
    );
  });

  test('are 404 MESSAGE_NOT_FOUND when the message does not exist', async () => {
    const label = await make('Nothing');
    for (const name of [randomUUID(), '3EB0DEADBEEF', '!?']) {
      const path = `/messages/${encodeURIComponent(name)}/labels/${label}`;
      const answer = await ask('POST', path);
      assert.deepEqual([answer.status, answer.code], [404, 'MESSAGE_NOT_FOUND'], name);
    }
  });
});

test('another account on the same instance begins without the labels of the one before', async () => {
  const own = await pipeline.connect();
  await make('First account', 1, own);
  await settled(pipeline, own);
  const stateIs = (state: string) =>
    waitFor(async () => (await pipeline.call(own, 'GET', '/connection')).body.state === state);
  await pipeline.sandbox.post('/faults', { kind: 'logout', instance: own.id });
  await stateIs('DISCONNECTED');
  await pipeline.call(own, 'POST', '/connect');
  await stateIs('CONNECTED');
  const { phone } = (await pipeline.call(own, 'GET', '')).body;
  assert.notEqual(phone, own.phone, 'the sandbox pairs with a fresh number');
  assert.deepEqual((await ask('GET', '/labels', undefined, own)).body.labels, []);
  assert.equal(await make('Second account', 1, own), '1');
});
