import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import { type Answer, startTestMessaging, type TestMessaging } from '../support/messaging.ts';
import { type SeededCompany, seedCompany, seedInstance } from '../support/seed.ts';

/** No worker: accepted tasks stay queued, so that they can be counted. */
let api: TestMessaging;
let company: SeededCompany;
let instanceId: string;

before(async () => {
  api = await startTestMessaging();
  company = await seedCompany(api.parts.db);
  instanceId = await seedInstance(api.parts.db, company.companyId, {
    settings: { anti_spam_guard_enabled: false },
  });
});
after(() => api.close());

const TO = '5511988880000';

async function call(method: string, path: string, body: object, key: string): Promise<Answer> {
  return api.call(method, `/v1/instances/${instanceId}${path}`, {
    key: company.apiKey,
    headers: { 'idempotency-key': key },
    body,
  });
}

/** A sent message, to react to, forward, edit and delete. */
async function target(): Promise<string> {
  const { body } = await call('POST', '/messages/text', { to: TO, text: randomUUID() }, randomUUID());
  await api.parts.db.query(`UPDATE messages SET status = 'sent', sent_at = now() WHERE id = $1`, [
    body.message_id,
  ]);
  return body.message_id;
}

interface Send {
  method?: 'PUT' | 'DELETE';
  path: string;
  body: Record<string, unknown>;
  changed: Record<string, unknown>;
}

const sends: Record<string, () => Promise<Send> | Send> = {
  text: () => ({ path: '/messages/text', body: { to: TO, text: 'a' }, changed: { text: 'b' } }),
  'link-preview': () => ({
    path: '/messages/link-preview',
    body: { to: TO, text: 'https://a.test', url: 'https://a.test' },
    changed: { title: 'b' },
  }),
  location: () => ({
    path: '/messages/location',
    body: { to: TO, latitude: 1, longitude: 2 },
    changed: { latitude: 3 },
  }),
  contact: () => ({
    path: '/messages/contact',
    body: { to: TO, contact_name: 'Bia', contact_phone: '+5511999990003' },
    changed: { contact_name: 'Ana' },
  }),
  reaction: async () => ({
    path: '/messages/reaction',
    body: { to: TO, message_id: await target(), emoji: 'x' },
    changed: { emoji: 'y' },
  }),
  poll: () => ({
    path: '/messages/poll',
    body: { to: TO, question: 'a', options: ['1', '2'] },
    changed: { question: 'b' },
  }),
  template: () => ({
    path: '/messages/template',
    body: { to: TO, body_text: 'a', buttons: [{ text: 'x', id: 'x' }] },
    changed: { body_text: 'b' },
  }),
  event: () => ({
    path: '/messages/event',
    body: { to: TO, name: 'a', start_at: '2030-01-01T10:00:00Z' },
    changed: { name: 'b' },
  }),
  forward: async () => ({
    path: '/messages/forward',
    body: { to: TO, forward_chat_id: TO, message_id: await target() },
    changed: { to: '5511988880001' },
  }),
  edit: async () => ({
    method: 'PUT',
    path: `/messages/${await target()}/edit`,
    body: { content: 'a' },
    changed: { content: 'b' },
  }),
  delete: async () => {
    const id = await target();
    return {
      method: 'DELETE',
      path: `/messages/${id}`,
      body: { to: TO, message_id: id },
      changed: { message_id: id.replaceAll('-', '').toUpperCase() },
    };
  },
  'status text': () => ({ path: '/messages/status/text', body: { text: 'a' }, changed: { text: 'b' } }),
};

async function counts(): Promise<{ messages: number; tasks: number }> {
  const found = await api.parts.db.query<{ messages: number; tasks: number }>(
    `SELECT (SELECT count(*) FROM messages WHERE instance_id = $1)::integer AS messages,
            (SELECT count(*) FROM outbox WHERE instance_id = $1)::integer AS tasks`,
    [instanceId],
  );
  return found.rows[0]!;
}

describe('an Idempotency-Key', () => {
  for (const [name, make] of Object.entries(sends)) {
    test(`${name}: 50 concurrent repeats are one task, and a changed body is 422`, async () => {
      const { method = 'POST', path, body, changed } = await make();
      const key = randomUUID();
      const before = await counts();
      const answers = await Promise.all(Array.from({ length: 50 }, () => call(method, path, body, key)));
      assert.deepEqual(new Set(answers.map((answer) => answer.status)), new Set([202]));
      assert.equal(new Set(answers.map((answer) => answer.text)).size, 1);
      assert.equal(answers.filter((answer) => !answer.headers.get('idempotent-replayed')).length, 1);
      const created = method === 'POST' ? 1 : 0;
      assert.deepEqual(await counts(), { messages: before.messages + created, tasks: before.tasks + 1 });
      const reused = await call(method, path, { ...body, ...changed }, key);
      assert.deepEqual([reused.status, reused.body.error_code], [422, 'IDEMPOTENCY_KEY_REUSED']);
      assert.deepEqual(await counts(), { messages: before.messages + created, tasks: before.tasks + 1 });
    });
  }

  test('names another task in each operation', async () => {
    const key = randomUUID();
    const text = await call('POST', '/messages/text', { to: TO, text: 'x' }, key);
    const poll = await call('POST', '/messages/poll', { to: TO, question: 'x', options: ['1', '2'] }, key);
    assert.deepEqual([text.status, poll.status], [202, 202]);
    assert.notEqual(text.body.message_id, poll.body.message_id);
  });

  test('names one task however the id of the instance is spelled, also for a scheduled send', async () => {
    const scheduled = { type: 'text', send_at: new Date(Date.now() + 3_600_000).toISOString() };
    for (const [path, body] of [
      ['/messages/text', { to: TO, text: 'spelled' }],
      ['/messages/scheduled', { ...scheduled, body: { to: TO, text: 'spelled' } }],
    ] as const) {
      const key = randomUUID();
      const first = await call('POST', path, body, key);
      assert.equal(first.status, 202, first.text);
      const again = await api.call('POST', `/v1/instances/${instanceId.toUpperCase()}${path}`, {
        key: company.apiKey,
        headers: { 'idempotency-key': key },
        body,
      });
      assert.deepEqual([again.status, again.body], [202, first.body], path);
      assert.equal(again.headers.get('idempotent-replayed'), 'true', path);
    }
  });

  test('leaves an edit its window from the moment when the message is sent, however long that waits', async () => {
    const { body } = await call('POST', '/messages/text', { to: TO, text: randomUUID() }, randomUUID());
    const id = body.message_id;
    await api.parts.db.query(`UPDATE messages SET created_at = now() - interval '1 hour' WHERE id = $1`, [
      id,
    ]);
    const waiting = await call('PUT', `/messages/${id}/edit`, { content: 'waiting' }, randomUUID());
    assert.equal(waiting.status, 202, waiting.text);
    await api.parts.db.query(
      `UPDATE messages SET status = 'sent', sent_at = now() - interval '1 hour' WHERE id = $1`,
      [id],
    );
    const sent = await call('PUT', `/messages/${id}/edit`, { content: 'sent' }, randomUUID());
    assert.deepEqual([sent.status, sent.body.error_code], [400, 'EDIT_WINDOW_EXPIRED']);
  });

  test('replays an edit whose window has closed since', async () => {
    const id = await target();
    const key = randomUUID();
    const edit = () => call('PUT', `/messages/${id}/edit`, { content: 'in time' }, key);
    const first = await edit();
    await api.parts.db.query(`UPDATE messages SET sent_at = now() - interval '1 hour' WHERE id = $1`, [id]);
    const again = await edit();
    assert.deepEqual([again.status, again.body], [202, first.body]);
    const late = await call('PUT', `/messages/${id}/edit`, { content: 'late' }, randomUUID());
    assert.equal(late.body.error_code, 'EDIT_WINDOW_EXPIRED');
  });
});

describe('passive mode and the guard', () => {
  async function withSettings(settings: object): Promise<string> {
    return seedInstance(api.parts.db, company.companyId, { settings });
  }

  test('passive mode refuses every type, and X-Force-Send passes each with an audit row', async () => {
    const original = instanceId;
    for (const [name, make] of Object.entries(sends)) {
      instanceId = await withSettings({ anti_spam_guard_enabled: false });
      const { method = 'POST', path, body } = await make();
      await api.parts.db.query(
        `UPDATE instances SET settings = '{"passive_mode_enabled": true}' WHERE id = $1`,
        [instanceId],
      );
      const before = await counts();
      const refused = await call(method, path, body, randomUUID());
      assert.deepEqual([refused.status, refused.body.error_code], [409, 'PASSIVE_MODE_ENABLED'], name);
      assert.deepEqual(await counts(), before, name);
      const forced = await api.call(method, `/v1/instances/${instanceId}${path}`, {
        key: company.apiKey,
        headers: { 'idempotency-key': randomUUID(), 'x-force-send': 'true' },
        body,
      });
      assert.equal(forced.status, 202, name);
      const audit = await api.parts.db.query<{ action: string }>(
        'SELECT action FROM audit_log WHERE instance_id = $1 ORDER BY action',
        [instanceId],
      );
      assert.deepEqual(
        audit.rows.map((row) => row.action),
        ['passive_mode.force_send'],
        name,
      );
    }
    instanceId = original;
  });

  test('exactly 3 of 50 concurrent sends of mixed types pass at a limit of 3', async () => {
    const original = instanceId;
    instanceId = await withSettings({});
    const answers = await Promise.all(
      Array.from({ length: 50 }, (_, i) =>
        i % 2
          ? call('POST', '/messages/text', { to: TO, text: `text ${i}` }, randomUUID())
          : call('POST', '/messages/location', { to: TO, latitude: i, longitude: i }, randomUUID()),
      ),
    );
    const refused = answers.filter((answer) => answer.status === 409);
    assert.equal(answers.filter((answer) => answer.status === 202).length, 3);
    assert.equal(refused.length, 47);
    const { remote_jid, score, tier, max_consecutive, outbound_consecutive } = refused[0]!.body;
    assert.deepEqual(
      [refused[0]!.body.error_code, remote_jid, score, tier, max_consecutive, outbound_consecutive],
      ['BLOCKED_TEMPERATURE_LIMIT', `${TO}@s.whatsapp.net`, 0, 'cold', 3, 3],
    );
    instanceId = original;
  });

  test('reactions, forwards, edits and deletes count, and are no duplicates of each other', async () => {
    const original = instanceId;
    instanceId = await withSettings({ anti_spam_guard_enabled: false });
    const id = await target();
    await api.parts.db.query(
      `UPDATE instances SET settings = '{"anti_spam_temperature_enabled": false}' WHERE id = $1`,
      [instanceId],
    );
    await api.parts.db.query('DELETE FROM chat_guards WHERE instance_id = $1', [instanceId]);
    const react = () =>
      call('POST', '/messages/reaction', { to: TO, message_id: id, emoji: 'x' }, randomUUID());
    const edit = () => call('PUT', `/messages/${id}/edit`, { content: 'same' }, randomUUID());
    assert.deepEqual(
      [(await react()).status, (await react()).status, (await edit()).status],
      [202, 202, 202],
    );
    const blocked = await edit();
    assert.deepEqual(
      [blocked.status, blocked.body.error_code, blocked.body.count, blocked.body.threshold],
      [409, 'BLOCKED_NO_RECIPROCITY', 3, 3],
    );
    instanceId = original;
  });
});
