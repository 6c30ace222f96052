import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { networkIdOf, newId } from '@posthorn/core/platform/ids.ts';
import { countUsage } from '@posthorn/core/usage/count-usage.ts';
import { startTestMessaging, type TestMessaging } from '../support/messaging.ts';
import { type SeededCompany, seedCompany, seedInstance } from '../support/seed.ts';

describe('sending, reading and counting messages over HTTP', () => {
  let api: TestMessaging;
  let owner: SeededCompany;
  let instanceId: string;
  before(async () => {
    api = await startTestMessaging();
    owner = await seedCompany(api.parts.db);
    instanceId = await seedInstance(api.parts.db, owner.companyId, {
      settings: { anti_spam_guard_enabled: false },
    });
  });
  after(() => api.close());

  const send = (key: string, body: object, headers: Record<string, string> = {}) =>
    api.call('POST', `/v1/instances/${instanceId}/messages/text`, {
      key: owner.apiKey,
      body: { to: '+55 11 99999-0000', text: 'hello', ...body },
      headers: { 'idempotency-key': key, ...headers },
    });
  const read = (id: string) =>
    api.call('GET', `/v1/instances/${instanceId}/message/${id}`, { key: owner.apiKey });

  test('a text is accepted with 202 and can be read by its UUID and by its network id', async () => {
    const { status, body, headers } = await send('first', { mentions: ['5511999990001@s.whatsapp.net'] });
    assert.equal(status, 202);
    assert.deepEqual([body.status, body.idempotency_key], ['queued', 'first']);
    assert.equal(headers.get('idempotent-replayed'), null);
    const found = await read(body.message_id);
    assert.equal(found.status, 200);
    assert.deepEqual(found.body.content, { text: 'hello', mentions: ['5511999990001@s.whatsapp.net'] });
    assert.deepEqual(
      [
        found.body.chat_jid,
        found.body.phone,
        found.body.direction,
        found.body.status,
        found.body.idempotency_key,
      ],
      ['5511999990000@s.whatsapp.net', '5511999990000', 'outbound', 'queued', 'first'],
    );
    const network = networkIdOf(body.message_id);
    assert.equal(found.body.network_id, network);
    assert.deepEqual((await read(network)).body, found.body);
    assert.deepEqual((await read(network.toLowerCase())).body, found.body);
  });

  test('the same key again answers the same ids, marked as a replay; with another body it is 422', async () => {
    const first = await send('again', {});
    const second = await send('again', {});
    assert.deepEqual(second.body, first.body);
    assert.equal(second.headers.get('idempotent-replayed'), 'true');
    const other = await send('again', { text: 'something else' });
    assert.deepEqual([other.status, other.body.error_code], [422, 'IDEMPOTENCY_KEY_REUSED']);
  });

  test('X-Force-Send: true passes passive mode, and nothing else does', async () => {
    const path = `/v1/instances/${instanceId}/settings`;
    await api.call('PATCH', path, { key: owner.apiKey, body: { passive_mode_enabled: true } });
    assert.equal((await send('p1', {})).body.error_code, 'PASSIVE_MODE_ENABLED');
    assert.equal((await send('p2', {}, { 'x-force-send': 'yes' })).body.error_code, 'PASSIVE_MODE_ENABLED');
    assert.equal((await send('p3', {}, { 'x-force-send': 'true' })).status, 202);
    await api.call('PATCH', path, { key: owner.apiKey, body: { passive_mode_enabled: false } });
  });

  test('different faults of a recipient have different codes', async () => {
    for (const [to, code] of [
      ['12', 'INVALID_PHONE'],
      ['someone@example.com', 'INVALID_RECIPIENT'],
      ['', 'MISSING_FIELD'],
    ] as const) {
      const { status, body } = await send(`to ${to}`, { to });
      assert.deepEqual([status, body.error_code], [400, code], to);
    }
  });

  test('an inbound message is read by the id the network gave it', async () => {
    const networkId = '3EB0C767D71AB5B2F1A1';
    await api.parts.db.query(
      `INSERT INTO messages (id, company_id, instance_id, direction, type, chat_jid, sender_jid, status, content,
         network_id, created_at)
       VALUES ($1, $2, $3, 'inbound', 'text', '120363@g.us', '5511988880000@s.whatsapp.net', 'received',
         '{"text":"hi"}', $4, now())`,
      [newId(), owner.companyId, instanceId, networkId],
    );
    const { status, body } = await read(networkId.toLowerCase());
    assert.equal(status, 200);
    assert.deepEqual(
      [body.network_id, body.from_jid, body.phone, body.is_from_me, body.status],
      [networkId, '5511988880000@s.whatsapp.net', '', false, 'received'],
    );
    for (const unknown of [newId(), 'ABCDEF', 'x y']) {
      const missing = await read(encodeURIComponent(unknown));
      assert.deepEqual([missing.status, missing.body.error_code], [404, 'MESSAGE_NOT_FOUND']);
    }
  });

  test('usage counts the last 24 hours and no more', async () => {
    const id = await seedInstance(api.parts.db, owner.companyId);
    const { db, clock } = api.parts;
    const count = (what: 'sent' | 'received' | 'delivered' | 'failed', hoursAgo: number) =>
      countUsage(
        db,
        [{ companyId: owner.companyId, instanceId: id, what }],
        new Date(clock.now().getTime() - hoursAgo * 3_600_000),
      );
    for (const hours of [0, 1, 23]) await count('sent', hours);
    await count('received', 2);
    await count('delivered', 3);
    await count('failed', 4);
    for (const what of ['sent', 'received', 'delivered', 'failed'] as const) await count(what, 25);
    const { body } = await api.call('GET', `/v1/instances/${id}/usage`, { key: owner.apiKey });
    assert.deepEqual(body, {
      messages_today: 4,
      messages_sent_today: 3,
      messages_received_today: 1,
      delivered_today: 1,
      failed_today: 1,
    });
  });
});
