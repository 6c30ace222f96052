import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { announceQr } from '@posthorn/core/instances/announce-qr.ts';
import { loadSessionRows } from '@posthorn/core/instances/load-sessions.ts';
import { answerPairingCode } from '@posthorn/core/instances/pairing.ts';
import { DEFAULT_SHARDS, shardOf } from '@posthorn/core/instances/shard.ts';
import { transitionInstance } from '@posthorn/core/instances/transition-instance.ts';
import { startTestMessaging, type TestMessaging } from '../support/messaging.ts';
import { waitFor } from '../support/process.ts';
import { readQrPicture } from '../support/read-qr.ts';
import { type SeededCompany, seedCompany, seedInstance } from '../support/seed.ts';

describe('pairing an instance', () => {
  let api: TestMessaging;
  let owner: SeededCompany;
  before(async () => {
    api = await startTestMessaging();
    owner = await seedCompany(api.parts.db);
  });
  after(() => api.close());

  const seed = (state: string, wanted: string) =>
    seedInstance(api.parts.db, owner.companyId, { state, wanted });
  const getQr = (id: string, accept?: string) =>
    api.call('GET', `/v1/instances/${id}/qr`, {
      key: owner.apiKey,
      ...(accept ? { headers: { accept } } : {}),
    });
  const leaseOf = (id: string) => ({ shard: shardOf(id, DEFAULT_SHARDS), epoch: 0 });
  const showQr = (id: string, qr: string, lifeMs = 60_000) =>
    announceQr(
      api.parts,
      { id, companyId: owner.companyId, lease: leaseOf(id) },
      qr,
      new Date(api.parts.clock.now().getTime() + lifeMs),
    );

  test('the QR is a PNG, or JSON on request', async () => {
    const id = await seed('PAIRING', 'connected');
    await showQr(id, 'the text of the code');
    const picture = await fetch(`${api.url}/v1/instances/${id}/qr`, {
      headers: { 'x-api-key': owner.apiKey },
    });
    assert.equal(picture.headers.get('content-type'), 'image/png');
    assert.equal(picture.headers.get('cache-control'), 'no-store');
    const bytes = Buffer.from(await picture.arrayBuffer());
    assert.equal(bytes.subarray(1, 4).toString(), 'PNG');
    assert.equal(await readQrPicture(bytes), 'the text of the code');
    const json = await getQr(id, 'application/json');
    assert.equal(json.body.qr, 'the text of the code');
    assert.ok(Date.parse(json.body.expires_at) > api.parts.clock.now().getTime());
  });

  test('each code causes instance.qr_updated', async () => {
    const id = await seed('PAIRING', 'connected');
    for (const qr of ['the first code', 'the second code']) await showQr(id, qr);
    const { rows } = await api.parts.db.query<{ data: Record<string, string> }>(
      `SELECT data FROM events WHERE instance_id = $1 AND type = 'instance.qr_updated' ORDER BY tx, id`,
      [id],
    );
    const now = api.parts.clock.now();
    assert.deepEqual(
      rows.map(({ data }) => data),
      ['the first code', 'the second code'].map((qr) => ({
        qr,
        expires_at: new Date(now.getTime() + 60_000).toISOString(),
        timestamp: now.toISOString(),
      })),
    );
  });

  test('a request that comes before the network’s code waits for it', async () => {
    const id = await seed('CREATED', 'connected');
    const waiting = getQr(id, 'application/json');
    await delay(200);
    await transitionInstance(api.parts, { instanceId: id, lease: leaseOf(id), to: 'PAIRING', reason: null });
    await showQr(id, 'here it is');
    assert.equal((await waiting).body.qr, 'here it is');
  });

  test('an expired code is not shown, and none after a while is 503 with Retry-After', async () => {
    const id = await seed('PAIRING', 'connected');
    await showQr(id, 'too old', -1);
    const { status, body, headers } = await getQr(id);
    assert.deepEqual([status, body.error_code], [503, 'SERVICE_UNAVAILABLE']);
    assert.ok(Number(headers.get('retry-after')) >= 1);
  });

  test('the QR of a session that a user has disconnected is not shown when the next one begins', async () => {
    const id = await seed('DISCONNECTED', 'connected');
    await showQr(id, 'nobody waits for it');
    assert.equal((await getQr(id)).status, 503);
  });

  test('without a pairing under way there is no QR: 409', async () => {
    for (const [state, wanted] of [
      ['CREATED', 'disconnected'],
      ['CONNECTED', 'connected'],
      ['BANNED', 'connected'],
    ] as const) {
      const { status, body } = await getQr(await seed(state, wanted));
      assert.deepEqual([status, body.error_code], [409, 'INVALID_INSTANCE_TRANSITION'], state);
    }
  });

  test('a pairing code is asked of the owner of the instance, which is connected for that', async () => {
    const id = await seed('CREATED', 'disconnected');
    const asked = api.call('POST', `/v1/instances/${id}/pairing-code`, {
      key: owner.apiKey,
      body: { phone: '+55 (11) 99999-0000' },
    });
    const row = await waitFor(async () => {
      const [found] = await loadSessionRows(api.parts.db, { instanceId: id });
      return found?.codePhone ? found : null;
    });
    assert.deepEqual([row.codePhone, row.desired], ['5511999990000', 'connected']);
    await answerPairingCode(api.parts.db, { id, lease: leaseOf(id) }, '5511999990000', { code: 'ABCD1234' });
    api.parts.bus.notify('instance', id);
    const { status, body } = await asked;
    assert.equal(status, 200);
    assert.deepEqual([body.code, body.phone], ['ABCD1234', '5511999990000']);
    assert.ok(Date.parse(body.expires_at) > api.parts.clock.now().getTime());
  });

  test('a pairing code asked for while the next try is still to come makes that try at once', async () => {
    const id = await seed('DISCONNECTED', 'connected');
    await api.parts.db.query(`UPDATE instances SET last_error = 'too old a version' WHERE id = $1`, [id]);
    const load = async () => (await loadSessionRows(api.parts.db, { instanceId: id }))[0]!;
    const { generation } = await load();
    const asked = api.call('POST', `/v1/instances/${id}/pairing-code`, {
      key: owner.apiKey,
      body: { phone: '5511999990003' },
    });
    const row = await waitFor(async () => {
      const found = await load();
      return found.codePhone ? found : null;
    });
    assert.deepEqual([row.generation, row.lastError], [generation + 1, null]);
    await answerPairingCode(api.parts.db, { id, lease: leaseOf(id) }, '5511999990003', { code: 'ABCD1234' });
    assert.equal((await asked).status, 200);
  });

  test('a network that gives no code is 503 with Retry-After, without the reason', async () => {
    const id = await seed('PAIRING', 'connected');
    const asked = api.call('POST', `/v1/instances/${id}/pairing-code`, {
      key: owner.apiKey,
      body: { phone: '5511999990001' },
    });
    await waitFor(async () => (await loadSessionRows(api.parts.db, { instanceId: id }))[0]?.codePhone);
    await answerPairingCode(api.parts.db, { id, lease: leaseOf(id) }, '5511999990001', {
      error: 'socket hang up at 10.0.0.1',
    });
    const { status, body, text, headers } = await asked;
    assert.deepEqual([status, body.error_code], [503, 'SERVICE_UNAVAILABLE']);
    assert.ok(Number(headers.get('retry-after')) >= 1);
    assert.equal(text.includes('10.0.0.1'), false);
  });

  test('a paired or restricted instance gives no code: 409; a phone that is none: 400', async () => {
    const ask = async (id: string, phone: string) =>
      (await api.call('POST', `/v1/instances/${id}/pairing-code`, { key: owner.apiKey, body: { phone } }))
        .body.error_code;
    for (const state of ['CONNECTED', 'HARD_PAUSED', 'BANNED'])
      assert.equal(
        await ask(await seed(state, 'connected'), '5511999990002'),
        'INVALID_INSTANCE_TRANSITION',
        state,
      );
    for (const none of ['12', 'BR.5511999990002'])
      assert.equal(await ask(await seed('CREATED', 'disconnected'), none), 'INVALID_PHONE', none);
  });
});
