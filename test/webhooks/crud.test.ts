import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { insertEvents } from '@posthorn/core/events/insert-events.ts';
import { createCipher } from '@posthorn/core/platform/encryption.ts';
import { newId } from '@posthorn/core/platform/ids.ts';
import { checkWebhookUrl } from '@posthorn/core/webhooks/check-webhook.ts';
import { startTestMessaging, type TestMessaging } from '../support/messaging.ts';
import { type SeededCompany, seedCompany, seedInstance } from '../support/seed.ts';

const URL_OK = 'https://hooks.example.com/in';

describe('webhooks of a company', () => {
  let api: TestMessaging;
  let owner: SeededCompany;
  let other: SeededCompany;
  before(async () => {
    api = await startTestMessaging({ SUPERADMIN_EMAILS: 'root@platform.test' });
    owner = await seedCompany(api.parts.db);
    other = await seedCompany(api.parts.db);
  });
  after(() => api.close());

  const create = (body: object, key = owner.apiKey) =>
    api.call('POST', '/v1/webhooks', { key, body: { url: URL_OK, ...body } });
  const at = (id: number) => `/v1/webhooks/${id}`;

  test('a new one takes every event and shows its secret this once', async () => {
    const { status, body } = await create({});
    assert.equal(status, 201);
    assert.match(body.secret, /^whsec_[A-Za-z0-9+/]{32}$/);
    const { secret, ...shown } = body;
    assert.deepEqual(
      { ...shown, id: 0, created_at: '', updated_at: '' },
      {
        id: 0,
        company_id: owner.companyId,
        url: URL_OK,
        events: ['*'],
        instance_id: null,
        headers: {},
        enabled: true,
        disabled_reason: null,
        created_at: '',
        updated_at: '',
      },
    );
    const read = await api.call('GET', at(body.id), { key: owner.apiKey });
    assert.deepEqual(read.body, shown);
    assert.equal(read.text.includes(secret), false);
    const list = await api.call('GET', '/v1/webhooks', { key: owner.apiKey });
    assert.equal(list.text.includes('whsec_'), false);
  });

  test('one whose headers another ENCRYPTION_KEY sealed is shown without them, and can be given new ones', async () => {
    const { body } = await create({ headers: { 'x-key': 'lost' } });
    await api.parts.db.query('UPDATE webhooks SET headers = $2 WHERE id = $1', [
      body.id,
      createCipher('ef'.repeat(32)).seal({ 'x-key': 'lost' }),
    ]);
    const list = await api.call('GET', '/v1/webhooks', { key: owner.apiKey });
    assert.equal(list.status, 200);
    const read = await api.call('GET', at(body.id), { key: owner.apiKey });
    assert.deepEqual([read.status, read.body.headers], [200, {}]);
    const disabled = await api.call('PATCH', at(body.id), { key: owner.apiKey, body: { enabled: false } });
    assert.equal(disabled.status, 200);
    const headers = { 'x-key': 'new' };
    const changed = await api.call('PATCH', at(body.id), { key: owner.apiKey, body: { headers } });
    assert.deepEqual([changed.status, changed.body.headers], [200, headers]);
  });

  test('a superadmin reaches the one of any company, anybody else only their own', async () => {
    const { body } = await create({});
    const path = `/v1/webhooks/${body.id}`;
    const { rows } = await api.parts.db.query<{ id: number }>(
      `SELECT id FROM users WHERE email = 'root@platform.test'`,
    );
    const superadmin = { ...other, companyId: 1, userId: rows[0]!.id };
    const root = { jwt: await api.jwtOf(superadmin, { isSuperadmin: true }) };
    const stranger = { key: other.apiKey };
    const steps = [
      ['GET', path, undefined, 200],
      ['PATCH', path, { enabled: false }, 200],
      ['GET', `${path}/logs`, undefined, 200],
      ['POST', `${path}/rotate-secret`, undefined, 200],
      ['DELETE', path, undefined, 204],
    ] as const;
    for (const [method, at, change, status] of steps) {
      const request = change ? { body: change } : {};
      const refused = await api.call(method, at, { ...stranger, ...request });
      assert.equal(refused.body.error_code, 'WEBHOOK_NOT_FOUND', `${method} ${at}`);
      assert.equal(refused.status, 404);
      assert.equal((await api.call(method, at, { ...root, ...request })).status, status, `${method} ${at}`);
    }
  });

  test('secrets and headers lie sealed in the database', async () => {
    const { body } = await create({ headers: { authorization: 'Bearer of-the-receiver' } });
    const { rows } = await api.parts.db.query<{ secret: Buffer; headers: Buffer }>(
      'SELECT secret, headers FROM webhooks WHERE id = $1',
      [body.id],
    );
    const { secret, headers } = rows[0]!;
    assert.equal(secret.includes('whsec_'), false);
    assert.equal(headers.includes('of-the-receiver'), false);
    const cipher = createCipher(api.config.ENCRYPTION_KEY);
    assert.equal(cipher.open(secret), body.secret);
    assert.deepEqual(cipher.open(headers), { authorization: 'Bearer of-the-receiver' });
  });

  test('an event that comes right after goes to it', async () => {
    const { body } = await create({ events: ['instance.*'] });
    const event = { eventId: newId(), companyId: owner.companyId, instanceId: null, traceId: null };
    await insertEvents(api.parts.db, [
      { ...event, type: 'instance.connected', data: {}, createdAt: new Date() },
      { ...event, eventId: newId(), type: 'message.sent', data: {}, createdAt: new Date() },
    ]);
    const { rows } = await api.parts.db.query(
      'SELECT event_id FROM webhook_deliveries WHERE webhook_id = $1',
      [body.id],
    );
    assert.deepEqual(rows, [{ event_id: event.eventId }]);
  });

  test('only URLs that may be reached: https without credentials, on web ports, not into private networks', async () => {
    for (const url of [
      'http://hooks.example.com/in?x=1',
      'ftp://hooks.example.com/',
      'javascript:alert(1)',
      'hooks.example.com',
      'https://user:secret@hooks.example.com/',
    ]) {
      const production = { allowPrivate: false, requireHttps: true };
      assert.throws(
        () => checkWebhookUrl(url, production),
        { code: 'WEBHOOK_URL_INVALID' },
        url.slice(0, 60),
      );
    }
    const long = await create({ url: `https://hooks.example.com/${'x'.repeat(2048)}` });
    assert.deepEqual([long.status, long.body.error_code], [400, 'WEBHOOK_URL_INVALID']);
    for (const url of [
      'https://127.0.0.1/',
      'https://2130706433/',
      'https://0x7f.1/',
      'https://10.1.2.3/',
      'https://169.254.169.254/latest/meta-data',
      'https://[::1]/',
      'https://[::ffff:10.0.0.1]/',
      'https://[fd00::1]/',
      'https://localhost/',
      'https://db.internal/',
      'https://0.0.0.0/',
    ]) {
      const { status, body } = await create({ url });
      assert.deepEqual([status, body.error_code], [400, 'WEBHOOK_URL_INVALID'], url);
    }
    for (const url of ['https://hooks.example.com:22/', 'https://hooks.example.com:6379/']) {
      const { status, body } = await create({ url });
      assert.deepEqual([status, body.error_code], [400, 'WEBHOOK_URL_BLOCKED'], url);
    }
    for (const url of [
      'https://hooks.example.com:8443/in',
      'https://203.0.114.9/in',
      'http://hooks.example.com/in',
    ])
      assert.equal((await create({ url })).status, 201, url);
  });

  test('standalone may send to localhost', () => {
    const policy = { allowPrivate: true, requireHttps: false };
    for (const url of ['http://localhost:3000/', 'http://127.0.0.1:9/', 'http://10.0.0.1/'])
      checkWebhookUrl(url, policy);
    assert.throws(() => checkWebhookUrl('file:///etc/passwd', policy), { code: 'WEBHOOK_URL_INVALID' });
    assert.throws(() => checkWebhookUrl('http://u:p@localhost/', policy), { code: 'WEBHOOK_URL_INVALID' });
  });

  test('headers that belong to the delivery or to the connection are refused', async () => {
    for (const name of [
      'Host',
      'content-length',
      'Webhook-Signature',
      'connection',
      'TE',
      'proxy-authorization',
      'trailer',
    ]) {
      const { status, body } = await create({ headers: { [name]: 'x' } });
      assert.deepEqual([status, body.error_code], [400, 'BAD_REQUEST'], name);
      assert.match(body.message, new RegExp(name));
    }
    for (const headers of [{ 'bad name': 'x' }, { ok: 'line\nbreak' }, { ok: 'ümlaut' }])
      assert.equal((await create({ headers })).status, 400);
  });

  test('a pattern that no event matches is refused', async () => {
    for (const events of [[], ['message.snet'], ['*.*.*'], ['nothing.*']])
      assert.equal((await create({ events })).status, 400, JSON.stringify(events));
    for (const events of [['*'], ['message.sent', 'instance.*'], ['*.received']])
      assert.equal((await create({ events })).status, 201, JSON.stringify(events));
  });

  test('it may be for one instance of the company, and of no other', async () => {
    const own = await seedInstance(api.parts.db, owner.companyId);
    const foreign = await seedInstance(api.parts.db, other.companyId);
    const made = await create({ instance_id: own });
    assert.deepEqual([made.status, made.body.instance_id], [201, own]);
    for (const instance_id of [foreign, newId(), 'not-a-uuid']) {
      assert.equal((await create({ instance_id })).body.error_code, 'INSTANCE_NOT_FOUND');
      const patch = { key: owner.apiKey, body: { instance_id } };
      assert.equal((await api.call('PATCH', at(made.body.id), patch)).body.error_code, 'INSTANCE_NOT_FOUND');
    }
  });

  test('changes touch the given fields alone; enabling forgets why it was disabled', async () => {
    const { id } = (await create({ events: ['message.*'], headers: { 'x-a': '1' } })).body;
    await api.parts.db.query(`UPDATE webhooks SET enabled = false, disabled_reason = 'gone' WHERE id = $1`, [
      id,
    ]);
    const patch = async (body: object) => (await api.call('PATCH', at(id), { key: owner.apiKey, body })).body;
    const first = await patch({ url: 'https://other.example.com/' });
    assert.deepEqual(
      [first.url, first.events, first.headers, first.enabled, first.disabled_reason],
      ['https://other.example.com/', ['message.*'], { 'x-a': '1' }, false, 'gone'],
    );
    const second = await patch({ enabled: true, headers: {}, events: ['*'] });
    assert.deepEqual(
      [second.events, second.headers, second.enabled, second.disabled_reason],
      [['*'], {}, true, null],
    );
    assert.equal((await patch({ url: 'https://10.0.0.1/' })).error_code, 'WEBHOOK_URL_INVALID');
    assert.equal((await patch({ url: 'https://hooks.example.com:25/' })).error_code, 'WEBHOOK_URL_BLOCKED');
    assert.deepEqual(await patch({}), second);
  });

  test('deleting ends the pending deliveries', async () => {
    const { id } = (await create({})).body;
    await insertEvents(api.parts.db, [
      {
        eventId: newId(),
        companyId: owner.companyId,
        instanceId: null,
        type: 'message.sent',
        data: {},
        traceId: null,
        createdAt: new Date(),
      },
    ]);
    assert.equal((await api.call('DELETE', at(id), { key: owner.apiKey })).status, 204);
    const left = await api.parts.db.query('SELECT 1 FROM webhook_deliveries WHERE webhook_id = $1', [id]);
    assert.equal(left.rowCount, 0);
    assert.equal(
      (await api.call('DELETE', at(id), { key: owner.apiKey })).body.error_code,
      'WEBHOOK_NOT_FOUND',
    );
  });

  test('the free limit is 10, also when 25 are asked for at the same time', async () => {
    const free = await seedCompany(api.parts.db);
    await api.parts.db.query('UPDATE companies SET max_webhooks = NULL WHERE id = $1', [free.companyId]);
    const answers = await Promise.all(Array.from({ length: 25 }, () => create({}, free.apiKey)));
    assert.equal(answers.filter(({ status }) => status === 201).length, 10);
    const refused = answers.find(({ status }) => status !== 201)!;
    assert.deepEqual([refused.status, refused.body.error_code], [403, 'PLAN_LIMIT_REACHED']);
  });

  test('attempts are listed newest first for a webhook, oldest first for an event, with the body as sent', async () => {
    const { id } = (await create({})).body;
    const eventId = newId();
    const createdAt = new Date(Date.now() - 3_600_000);
    const data = { text: 'as sent' };
    await insertEvents(api.parts.db, [
      {
        eventId,
        companyId: owner.companyId,
        instanceId: null,
        type: 'message.sent',
        data,
        traceId: null,
        createdAt,
      },
    ]);
    for (const attempt of [1, 2, 3]) {
      await api.parts.db.query(
        `INSERT INTO webhook_delivery_logs (company_id, webhook_id, webhook_url, event_id, event_type, event_created_at,
           attempt, success, status_code, error_class, response, latency_ms, created_at)
         VALUES ($1, $2, $3, $4, 'message.sent', $5, $6, $7, $8, $9, 'ok', 5, now())`,
        [
          owner.companyId,
          id,
          URL_OK,
          eventId,
          createdAt,
          attempt,
          attempt === 3,
          attempt === 1 ? null : 500,
          attempt === 3 ? '' : 'timeout',
        ],
      );
    }
    const logs = (await api.call('GET', `${at(id)}/logs?limit=2`, { key: owner.apiKey })).body;
    assert.deepEqual([logs.total, logs.page, logs.limit], [3, 1, 2]);
    assert.deepEqual(
      logs.data.map((log: { attempt: number }) => log.attempt),
      [3, 2],
    );
    assert.deepEqual(JSON.parse(logs.data[0].payload), {
      event_id: eventId,
      type: 'message.sent',
      created_at: createdAt.toISOString(),
      company_id: owner.companyId,
      instance_id: null,
      data,
    });
    const second = (await api.call('GET', `${at(id)}/logs?limit=2&page=2`, { key: owner.apiKey })).body;
    assert.deepEqual([second.data[0].attempt, second.data[0].status_code], [1, 0]);
    const ofEvent = (key: string) => api.call('GET', `/v1/event-deliveries?event_id=${eventId}`, { key });
    const mine = (await ofEvent(owner.apiKey)).body;
    assert.deepEqual([mine.total, mine.logs.map((log: { attempt: number }) => log.attempt)], [3, [1, 2, 3]]);
    assert.deepEqual((await ofEvent(other.apiKey)).body, { logs: [], total: 0 }, 'not of another company');
    for (const unknown of [newId(), 'no-such-event']) {
      const { status, body } = await api.call('GET', `/v1/event-deliveries?event_id=${unknown}`, {
        key: owner.apiKey,
      });
      assert.deepEqual([status, body], [200, { logs: [], total: 0 }]);
    }
  });
});
