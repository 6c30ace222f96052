import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { after, before, describe, it } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { type CloudSending, startCloudSending } from '../support/cloud/cloud-sending.ts';
import { listen } from '../support/listen.ts';
import { waitFor } from '../support/process.ts';

describe('PUT /v1/instances/{id}/credentials', () => {
  let cloud: CloudSending;
  before(async () => {
    cloud = await startCloudSending();
  });
  after(() => cloud?.close());

  it('connects an instance of an official number, and shows none of its credentials', async () => {
    const { id, number } = await cloud.connect();
    const shown = await cloud.call(id, 'GET', '');
    assert.deepEqual(
      [shown.body.state, shown.body.phone, shown.body.jid, shown.body.push_name],
      ['CONNECTED', number.phone, `${number.phone}@s.whatsapp.net`, 'A shop'],
    );
    for (const secret of [number.token, number.appSecret]) assert.ok(!shown.text.includes(secret));
    const { rows } = await cloud.api.parts.db.query<{ credentials: Buffer }>(
      'SELECT credentials FROM instances WHERE id = $1',
      [id],
    );
    assert.ok(!rows[0]!.credentials.includes(number.token), 'it is sealed');
    const moves = (await cloud.call(id, 'GET', '/connection')).body.moves;
    assert.deepEqual(
      moves.map(({ from, to }: { from: string; to: string }) => [from, to]),
      [['CREATED', 'CONNECTED']],
    );
  });

  it('refuses credentials that Meta refuses, in its words, and changes nothing', async () => {
    const id = await cloud.create();
    const number = cloud.graph.addNumber({ phone: '5511900000001' });
    const stranger = cloud.graph.addNumber({ phone: '5511900000002' });
    const cases: [Record<string, string>, RegExp][] = [
      [{ access_token: 'EAAnobodys-token' }, /session has expired/],
      [{ app_secret: '0123456789abcdef' }, /appsecret_proof/],
      [{ phone_number_id: stranger.id }, /does not exist/],
      [{ business_account_id: stranger.businessId }, /does not exist/],
    ];
    for (const [changes, words] of cases) {
      const refused = await cloud.give(id, number, changes);
      assert.deepEqual([refused.status, refused.body.error_code], [422, 'CREDENTIALS_REFUSED'], refused.text);
      assert.match(refused.body.message, words);
    }
    assert.equal((await cloud.call(id, 'GET', '')).body.state, 'CREATED');
    for (const missing of ['phone_number_id', 'app_secret'])
      assert.equal((await cloud.give(id, number, { [missing]: '' })).status, 400, missing);
  });

  it('disconnects with a reason when the token dies, keeps the credentials, and connects with new ones', async () => {
    const instance = await cloud.connect();
    await cloud.greet(instance, '5531900000001');
    instance.number.isTokenAlive = false;
    await cloud.send(instance, '/messages/text', { to: '5531900000001', text: 'Waits' });
    const down = await cloud.state(instance.id, 'DISCONNECTED');
    assert.match(down.last_error, /refuses the access token/);
    const { rows } = await cloud.api.parts.db.query<{ kept: boolean }>(
      'SELECT credentials IS NOT NULL AS kept FROM instances WHERE id = $1',
      [instance.id],
    );
    assert.equal(rows[0]!.kept, true);
    const refused = await cloud.call(instance.id, 'POST', '/messages/text', {
      to: '5531900000001',
      text: 'No',
    });
    assert.equal(refused.body.error_code, 'INSTANCE_NOT_CONNECTED');
    instance.number.isTokenAlive = true;
    instance.number.token = `${instance.number.token}-new`;
    assert.equal((await cloud.give(instance.id, instance.number)).status, 200);
    const up = await cloud.state(instance.id, 'CONNECTED');
    assert.equal(up.last_error, null);
    await waitFor(async () => cloud.graph.world.ledger.some(({ to }) => to === '5531900000001'));
  });

  it('disconnects when the number is gone or not for this token, and no message is lost', async () => {
    const instance = await cloud.connect({ humanize_enabled: false });
    const { id, number } = instance;
    await cloud.greet(instance, '5531900000001');
    const numberId = number.id;
    number.id = `${numberId}0`;
    const message = await cloud.send(instance, '/messages/text', { to: '5531900000001', text: 'Hello' });
    const down = await cloud.state(id, 'DISCONNECTED');
    assert.match(down.last_error, /not among its assets/);
    assert.equal((await cloud.status(instance, message)).status, 'queued');
    number.id = numberId;
    await cloud.call(id, 'POST', '/connect');
    await cloud.reaches(instance, message, 'delivered');
  });

  it('names the missing credentials when it is connected without any', async () => {
    const id = await cloud.create();
    await cloud.call(id, 'POST', '/connect');
    const down = await cloud.state(id, 'DISCONNECTED');
    assert.match(down.last_error, /PUT \/v1\/instances/);
  });

  it('forgets them with a logout, and no longer has Meta post', async () => {
    const { id, number } = await cloud.connect();
    assert.equal((await cloud.call(id, 'POST', '/logout')).status, 202);
    await cloud.state(id, 'DISCONNECTED');
    await waitFor(async () => number.webhook === null);
  });

  it('keeps requests during a logout: new credentials, and a connect', async () => {
    const [given, connected] = [await cloud.connect(), await cloud.connect()];
    const { world } = cloud.graph;
    world.answerDelayMs = 2_000;
    for (const { id } of [given, connected])
      assert.equal((await cloud.call(id, 'POST', '/logout')).status, 202);
    // The worker is asking Meta to end the subscriptions.
    await waitFor(() => [given, connected].every(({ number }) => number.webhook === null));
    world.answerDelayMs = 0;
    assert.equal((await cloud.give(given.id, given.number)).status, 200);
    assert.equal((await cloud.call(connected.id, 'POST', '/connect')).status, 202);
    await waitFor(async () => (await cloud.events(given.id, 'instance.logged_out')).length === 1);
    const up = await cloud.state(given.id, 'CONNECTED');
    assert.equal(up.phone, given.number.phone);
    await cloud.greet(given, '5531900000008');
    await waitFor(async () =>
      /PUT \/v1\/instances/.test((await cloud.state(connected.id, 'DISCONNECTED')).last_error),
    );
  });

  it('connects with credentials that are given at the moment at which the former token dies', async () => {
    const instance = await cloud.connect();
    const { id, number } = instance;
    await cloud.greet(instance, '5531900000014');
    await cloud.api.parts.db.transaction(async (sql) => {
      // New credentials raise it too; here this happens before the death of the former ones is recorded.
      await sql.query('UPDATE instances SET generation = generation + 1 WHERE id = $1', [id]);
      const refused = Promise.withResolvers<void>();
      const isTokenAlive = () => void refused.resolve();
      Object.defineProperty(number, 'isTokenAlive', { get: isTokenAlive, configurable: true });
      await cloud.send(instance, '/messages/text', { to: '5531900000014', text: 'Under the former token' });
      await refused.promise;
      // By then the worker waits for the row.
      await delay(1_000);
      Object.defineProperty(number, 'isTokenAlive', { value: true, writable: true });
      await sql.query(`SELECT pg_notify('instance', $1)`, [id]);
    });
    await waitFor(async () => (await cloud.events(id, 'instance.disconnected')).length === 1);
    await cloud.state(id, 'CONNECTED');
  });

  it('leaves a number alone that another instance has taken over, when the former one is deleted', async () => {
    const former = await cloud.connect();
    const present = { id: await cloud.create(), number: former.number };
    assert.equal((await cloud.give(present.id, former.number)).status, 200);
    await cloud.state(present.id, 'CONNECTED');
    assert.equal((await cloud.call(former.id, 'DELETE', '')).status, 204);
    assert.match(present.number.webhook?.url ?? '', new RegExp(present.id));
    await cloud.greet(present, '5531900000009');
  });

  it('leaves it alone as well when a worker starts anew, or when the former instance is connected or deleted later', async () => {
    const [former, other] = [await cloud.connect(), await cloud.connect()];
    const present = { id: await cloud.create(), number: former.number };
    assert.equal((await cloud.give(present.id, former.number)).status, 200);
    await cloud.state(present.id, 'CONNECTED');
    await cloud.worker.stop();
    await cloud.startWorker();
    const down = await cloud.state(former.id, 'DISCONNECTED');
    assert.match(down.last_error, /another session of this account was opened/);
    await cloud.greet(present, '5531900000010');
    assert.equal((await cloud.call(former.id, 'POST', '/connect')).status, 202);
    await delay(500);
    assert.equal((await cloud.call(former.id, 'DELETE', '')).status, 204);
    await cloud.greet(present, '5531900000011');
    await cloud.greet(other, '5531900000012');
  });

  it('is taken back by giving the credentials again', async () => {
    const former = await cloud.connect();
    const present = await cloud.create();
    assert.equal((await cloud.give(present, former.number)).status, 200);
    await cloud.state(present, 'CONNECTED');
    const { webhook } = former.number;
    assert.equal((await cloud.give(former.id, former.number)).status, 200);
    await waitFor(async () => former.number.webhook !== webhook && former.number.webhook);
    await cloud.greet(former, '5531900000013');
  });

  it('leaves the address alone that the app has set for the whole business account', async () => {
    const number = cloud.graph.addNumber({ phone: '5511900000003' });
    const { accountWebhooks } = cloud.graph.world;
    accountWebhooks.set(number.businessId, 'https://crm.example/webhook');
    const id = await cloud.create();
    assert.equal((await cloud.give(id, number)).status, 200);
    await cloud.state(id, 'CONNECTED');
    assert.equal(accountWebhooks.get(number.businessId), 'https://crm.example/webhook');
  });
});

describe('PUT /v1/instances/{id}/credentials, while Meta takes its time', () => {
  it('gives the instance nothing when the key that asked is revoked meanwhile', async (t) => {
    const { promise: isRevoked, resolve: revoked } = Promise.withResolvers<void>();
    const { promise: isAsked, resolve: asked } = Promise.withResolvers<void>();
    const meta = createServer(async ({ url }, response) => {
      asked();
      await isRevoked;
      const body = url!.includes('/phone_numbers')
        ? { data: [{ id: '106540352242922' }] }
        : { display_phone_number: '+55 11 90000-0001', verified_name: 'A shop' };
      response.setHeader('content-type', 'application/json');
      response.end(JSON.stringify(body));
    });
    const port = await listen(meta);
    const cloud = await startCloudSending({
      graphUrl: `http://127.0.0.1:${port}`,
    });
    t.after(async () => {
      await cloud.close();
      meta.closeAllConnections();
      meta.close();
    });
    const id = await cloud.create();
    const giving = cloud.call(id, 'PUT', '/credentials', {
      ...{ phone_number_id: '106540352242922', business_account_id: '102290129340398' },
      ...{ access_token: 'EAAtoken', app_secret: '0123456789abcdef' },
    });
    await Promise.race([isAsked, giving.then(({ text }) => assert.fail(text))]);
    const { db } = cloud.api.parts;
    await db.query('UPDATE api_tokens SET revoked_at = now() WHERE company_id = $1', [
      cloud.company.companyId,
    ]);
    revoked();
    const { status, body } = await giving;
    assert.deepEqual([status, body.error_code], [401, 'TOKEN_INVALID']);
    const { rows } = await db.query<{ state: string; wanted: string; given: boolean }>(
      'SELECT state, wanted, credentials IS NOT NULL AS given FROM instances WHERE id = $1',
      [id],
    );
    assert.deepEqual(rows, [{ state: 'CREATED', wanted: 'disconnected', given: false }]);
  });
});
